/* SPDX-License-Identifier: Apache-2.0 */
/* The code generator's table: loops to object code. LLVM selects instructions and allocates registers; no pass runs over the
 * IR but those that code generation itself brings. */
#include "llvm/emit.h"
#include "llvm/join.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kn_emit_fail(kn_emit *e, const char *fmt, ...)
{
    if (e->failed) return;
    e->failed = true;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->error, e->error_bytes, fmt, ap);
    va_end(ap);
}

void *kn_emit_new(kn_emit *e, size_t n, size_t size)
{
    void *p = kn_arena_newn(&e->arena, n, size);
    if (!p) kn_emit_fail(e, "out of memory");
    return p;
}

/* ---- target machines: made once, each used by one thread at a time ---- */

enum { TIERS = 2, SPARE = 4 };

static struct {
    pthread_mutex_t lock;
    bool ready;
    LLVMTargetRef target;
    LLVMTargetMachineRef spare[KN_N_TARGETS][TIERS][SPARE];
    unsigned spares[KN_N_TARGETS][TIERS];
} machines = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A module knows the processors of one kind. */
#if defined(KN_LLVM_AARCH64)
static const unsigned first_target = KN_AARCH64, last_target = KN_AARCH64;
#define INITIALISE(what) LLVMInitializeAArch64##what()
#else
static const unsigned first_target = KN_X86_64_V2, last_target = KN_X86_64_V4;
#define INITIALISE(what) LLVMInitializeX86##what()
#endif

/* This LLVM is private to the module: its options are nobody else's. */
static bool initialise(char *error, size_t error_bytes)
{
    /* What these passes do has been done where loops are made, or does not pay here: without them calls of the shared cases' programs take as
     * many instructions as with them, and compiles a twentieth less. */
    static const char *const options[] = {
        "kiln",
        "-disable-lsr",
        "-global-isel=0",
        "-disable-constant-hoisting",
        "-disable-copyprop",
        "-disable-early-ifcvt",
        "-disable-expand-reductions",
        "-disable-machine-cse",
        "-disable-machine-dce",
        "-disable-machine-sink",
        "-disable-mergeicmps",
        "-disable-partial-libcall-inlining",
        "-disable-ssc",
#ifndef KN_LLVM_AARCH64
        "-disable-x86-lea-opt",
        "-x86-cmov-converter=0",
#endif
    };
    char *message = NULL;
    if (machines.ready) return true;
    INITIALISE(TargetInfo);
    INITIALISE(Target);
    INITIALISE(TargetMC);
    INITIALISE(AsmPrinter);
    LLVMParseCommandLineOptions(sizeof options / sizeof *options, options, NULL);
    if (LLVMGetTargetFromTriple(kn_targets[first_target].triple, &machines.target, &message)) {
        snprintf(error, error_bytes, "%s", message);
        LLVMDisposeMessage(message);
        return false;
    }
    machines.ready = true;
    return true;
}

static LLVMTargetMachineRef machine_take(unsigned target, unsigned tier, char *error, size_t error_bytes)
{
    LLVMTargetMachineRef m = NULL;
    const kn_target *t = &kn_targets[target];
    pthread_mutex_lock(&machines.lock);
    if (initialise(error, error_bytes)) {
        unsigned *n = &machines.spares[target][tier];
        if (*n) m = machines.spare[target][tier][--*n];
        else
            m = LLVMCreateTargetMachine(machines.target, t->triple, t->cpu, "", tier ? LLVMCodeGenLevelDefault : LLVMCodeGenLevelNone,
                                        LLVMRelocPIC, LLVMCodeModelSmall);
        if (!m) snprintf(error, error_bytes, "LLVM makes no code for %s", t->name);
    }
    pthread_mutex_unlock(&machines.lock);
    return m;
}

static void machine_give(unsigned target, unsigned tier, LLVMTargetMachineRef m)
{
    pthread_mutex_lock(&machines.lock);
    unsigned *n = &machines.spares[target][tier];
    bool keep = *n < SPARE;
    if (keep) machines.spare[target][tier][(*n)++] = m;
    pthread_mutex_unlock(&machines.lock);
    if (!keep) LLVMDisposeTargetMachine(m);
}

/* ---- one program ---- */

static void attribute(kn_emit *e, const char *name, const char *value)
{
    LLVMAttributeRef a = LLVMCreateStringAttribute(e->c, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(e->fn, LLVMAttributeFunctionIndex, a);
}

/* Vectors that are kept on the stack are aligned there. LLVM sees too late at level 0 that there will be some. */
static void align_stack(kn_emit *e)
{
    const char *name = "alignstack";
    LLVMAddAttributeAtIndex(e->fn, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(e->c, LLVMGetEnumAttributeKindForName(name, strlen(name)), e->vector_bytes));
}

void kn_emit_declare(kn_emit *e, const char *name, LLVMTypeRef type)
{
    e->fn = LLVMAddFunction(e->m, name, type);
    const char *nounwind = "nounwind", *bits = e->vector_bytes == 64 ? "512" : e->vector_bytes == 32 ? "256" : "128";
    unsigned kind = LLVMGetEnumAttributeKindForName(nounwind, strlen(nounwind));
    LLVMAddAttributeAtIndex(e->fn, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(e->c, kind, 0));
    if (e->m == e->level[0]) align_stack(e);
    attribute(e, "prefer-vector-width", bits);
    attribute(e, "min-legal-vector-width", bits);
    attribute(e, "no-builtins", "");
}

static bool emit_all(kn_emit *e)
{
    const kn_loops *l = e->l;
    e->val = kn_emit_new(e, l->inst.n, sizeof *e->val);
    e->ptr = kn_emit_new(e, l->slots.n, sizeof *e->ptr);
    e->varying = kn_emit_new(e, l->inst.n, 1);
    e->slot_loads = kn_emit_new(e, l->slots.n, 1);
    if (e->failed || !kn_bounds_init(e)) return false;
    LLVMTypeRef p = LLVMPointerTypeInContext(e->c, 0), params[] = {p, p, p, p};
    e->m = e->level[e->two_levels ? e->entry_hot : e->o->tier > 0];
    kn_emit_declare(e, "kiln_entry", LLVMFunctionType(LLVMInt32TypeInContext(e->c), params, 4, false));
    kn_emit_prologue(e);
    kn_emit_block(e, &l->top);
    kn_emit_epilogue(e);
    if (e->level[0]) {
        e->m = e->level[0];
        kn_emit_native(e);
        if (!e->failed) kn_emit_quick(e);
        if (!e->failed && e->target != &kn_targets[KN_AARCH64]) kn_emit_cut(e); /* there another selector is the fast one */
    }
    return !e->failed;
}

static char *keep(const void *p, size_t n)
{
    char *s = malloc(n + 1);
    if (s) {
        memcpy(s, p, n);
        s[n] = 0;
    }
    return s;
}

static char *code(kn_emit *e, unsigned level, LLVMModuleRef module, LLVMCodeGenFileType kind, size_t *n)
{
    char *message = NULL;
    LLVMMemoryBufferRef buffer = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(e->machine[level], module, kind, &message, &buffer)) {
        kn_emit_fail(e, "%s", message ? message : "LLVM failed");
        LLVMDisposeMessage(message);
        return NULL;
    }
    *n = LLVMGetBufferSize(buffer);
    char *s = keep(LLVMGetBufferStart(buffer), *n);
    if (!s) kn_emit_fail(e, "out of memory");
    LLVMDisposeMemoryBuffer(buffer);
    return s;
}

/* Appends a text to one that may be NULL. */
static void append(kn_emit *e, char **to, const char *text)
{
    size_t n = *to ? strlen(*to) : 0, more = strlen(text);
    char *s = realloc(*to, n + more + 1);
    if (!s) {
        kn_emit_fail(e, "out of memory");
        return;
    }
    memcpy(s + n, text, more + 1);
    *to = s;
}

static void print_level(kn_emit *e, unsigned level)
{
    size_t n;
    if (e->o->want_ir) {
        char *text = LLVMPrintModuleToString(e->level[level]);
        append(e, &e->out->ir, text);
        LLVMDisposeMessage(text);
    }
    if (e->o->want_asm && !e->failed) {
        LLVMModuleRef copy = LLVMCloneModule(e->level[level]); /* code generation changes what it reads */
        char *text = code(e, level, copy, LLVMAssemblyFile, &n);
        if (text) append(e, &e->out->assembly, text);
        free(text);
        LLVMDisposeModule(copy);
    }
}

/* With a remark of how many instructions the slow selector gets, of what is made at level 0. */
static void print(kn_emit *e)
{
    char remark[60];
    for (unsigned level = 0; level < TIERS && !e->failed; level++)
        if (e->level[level]) print_level(e, level);
    if (!e->o->want_ir || !e->out->slow || e->failed) return;
    snprintf(remark, sizeof remark, "; slow selector: %llu\n", (unsigned long long)e->out->slow);
    append(e, &e->out->ir, remark);
}

static void verify(kn_emit *e)
{
#ifdef KN_DEBUG
    for (unsigned level = 0; level < TIERS; level++) {
        char *message = NULL;
        if (!e->level[level]) continue;
        if (LLVMVerifyModule(e->level[level], LLVMReturnStatusAction, &message)) kn_emit_fail(e, "the IR is not valid: %s", message);
        LLVMDisposeMessage(message);
    }
#else
    (void)e;
#endif
}

/* Of one level or of both. */
static void make_object(kn_emit *e)
{
    char *part[TIERS] = {NULL, NULL};
    size_t n[TIERS];
    for (unsigned level = 0; level < TIERS && !e->failed; level++)
        if (e->level[level]) part[level] = code(e, level, e->level[level], LLVMObjectFile, &n[level]);
    if (part[0] && part[1] && !e->failed) {
        e->out->object = kn_objects_join(part[0], n[0], part[1], n[1], &e->out->object_bytes);
        if (!e->out->object) kn_emit_fail(e, "out of memory");
        free(part[0]);
        free(part[1]);
        return;
    }
    e->out->object = part[0] ? part[0] : part[1];
    e->out->object_bytes = part[0] ? n[0] : part[1] ? n[1] : 0;
}

static void diagnostic(LLVMDiagnosticInfoRef info, void *ud)
{
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
    char *text = LLVMGetDiagInfoDescription(info);
    kn_emit_fail(ud, "%s", text);
    LLVMDisposeMessage(text);
}

static void release(kn_codegen_result *r)
{
    free(r->object);
    free(r->ir);
    free(r->assembly);
    *r = (kn_codegen_result){0};
}

/* The module of a level, with a machine that makes its code. */
static void open_level(kn_emit *e, unsigned level)
{
    unsigned target = (unsigned)(e->target - kn_targets);
    e->machine[level] = machine_take(target, level, e->error, e->error_bytes);
    if (!e->machine[level]) {
        e->failed = true;
        return;
    }
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(e->machine[level]);
    e->level[level] = LLVMModuleCreateWithNameInContext("kiln", e->c);
    LLVMSetModuleDataLayout(e->level[level], layout);
    LLVMSetTarget(e->level[level], e->target->triple);
    LLVMDisposeTargetData(layout);
}

static void close_level(kn_emit *e, unsigned level)
{
    if (e->level[level]) LLVMDisposeModule(e->level[level]);
    if (e->machine[level]) machine_give((unsigned)(e->target - kn_targets), level, e->machine[level]);
}

static void run(kn_emit *e)
{
    e->c = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(e->c, diagnostic, e);
    e->b = LLVMCreateBuilderInContext(e->c);
    if (e->o->tier) kn_emit_heat(e);
    for (unsigned level = 0; level < TIERS && !e->failed; level++)
        if (e->two_levels || level == (e->o->tier > 0)) open_level(e, level);
    if (!e->failed && emit_all(e)) {
        verify(e);
        if (!e->failed) print(e);
        if (!e->failed) make_object(e);
    }
    LLVMDisposeBuilder(e->b);
    for (unsigned level = 0; level < TIERS; level++) close_level(e, level);
    LLVMContextDispose(e->c);
}

static int generate(const kn_loops *l, const kn_codegen_options *o, kn_codegen_result *out, char *error, size_t error_bytes)
{
    *out = (kn_codegen_result){0};
    const kn_target *t = kn_target_find(o->target);
    unsigned target = t ? (unsigned)(t - kn_targets) : KN_N_TARGETS;
    if (target < first_target || target > last_target) {
        snprintf(error, error_bytes, "this module makes no code for target '%s'", o->target);
        return -1;
    }
    kn_emit e = {.l = l, .o = o, .out = out, .target = t, .error = error, .error_bytes = error_bytes, .vector_bytes = t->vector_bits / 8};
    kn_arena_init(&e.arena, NULL);
    run(&e);
    kn_arena_fini(&e.arena);
    if (e.failed) release(out);
    return e.failed ? -1 : 0;
}

__attribute__((visibility("default"))) const kn_codegen *kn_codegen_table(void);
const kn_codegen *kn_codegen_table(void)
{
    static const kn_codegen table = {KN_CODEGEN_ABI, "LLVM " LLVM_VERSION_STRING, generate, release};
    return &table;
}
