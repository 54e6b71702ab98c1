/* SPDX-License-Identifier: Apache-2.0 */
/* The code generator's table: loops to object code. LLVM selects instructions and allocates registers; no pass runs over the
 * IR but those that code generation itself brings. */
#include "llvm/emit.h"

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
    static const char *const options[] = {"kiln", "-disable-lsr", "-global-isel=0"};
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

void kn_emit_declare(kn_emit *e, const char *name, LLVMTypeRef type)
{
    e->fn = LLVMAddFunction(e->m, name, type);
    const char *nounwind = "nounwind", *bits = e->vector_bytes == 64 ? "512" : e->vector_bytes == 32 ? "256" : "128";
    unsigned kind = LLVMGetEnumAttributeKindForName(nounwind, strlen(nounwind));
    LLVMAddAttributeAtIndex(e->fn, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(e->c, kind, 0));
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
    if (e->failed) return false;
    LLVMTypeRef p = LLVMPointerTypeInContext(e->c, 0), params[] = {p, p, p, p};
    kn_emit_declare(e, "kiln_entry", LLVMFunctionType(LLVMInt32TypeInContext(e->c), params, 4, false));
    kn_emit_prologue(e);
    kn_emit_block(e, &l->top);
    kn_emit_epilogue(e);
    if (e->o->tier == 0) {
        kn_emit_quick(e);
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

static char *code(kn_emit *e, LLVMTargetMachineRef m, LLVMModuleRef module, LLVMCodeGenFileType kind, size_t *n)
{
    char *message = NULL;
    LLVMMemoryBufferRef buffer = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(m, module, kind, &message, &buffer)) {
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

/* With a remark of how many instructions the slow selector gets, at level 0. */
static char *keep_ir(const kn_emit *e, const char *text, size_t n)
{
    enum { REMARK = 60 };
    char *s = malloc(n + REMARK);
    if (!s) return NULL;
    memcpy(s, text, n);
    s[n] = 0;
    if (e->out->slow) snprintf(s + n, REMARK, "; slow selector: %llu\n", (unsigned long long)e->out->slow);
    return s;
}

static void print(kn_emit *e, LLVMTargetMachineRef m)
{
    size_t n;
    if (e->o->want_ir) {
        char *text = LLVMPrintModuleToString(e->m);
        e->out->ir = keep_ir(e, text, strlen(text));
        LLVMDisposeMessage(text);
        if (!e->out->ir) kn_emit_fail(e, "out of memory");
    }
    if (e->o->want_asm) {
        LLVMModuleRef copy = LLVMCloneModule(e->m); /* code generation changes what it reads */
        e->out->assembly = code(e, m, copy, LLVMAssemblyFile, &n);
        LLVMDisposeModule(copy);
    }
}

static void verify(kn_emit *e)
{
#ifdef KN_DEBUG
    char *message = NULL;
    if (LLVMVerifyModule(e->m, LLVMReturnStatusAction, &message)) kn_emit_fail(e, "the IR is not valid: %s", message);
    LLVMDisposeMessage(message);
#else
    (void)e;
#endif
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

static void run(kn_emit *e, LLVMTargetMachineRef machine)
{
    e->c = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(e->c, diagnostic, e);
    e->m = LLVMModuleCreateWithNameInContext("kiln", e->c);
    e->b = LLVMCreateBuilderInContext(e->c);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMSetModuleDataLayout(e->m, layout);
    LLVMSetTarget(e->m, e->target->triple);
    if (emit_all(e)) {
        verify(e);
        if (!e->failed) print(e, machine);
        if (!e->failed) e->out->object = code(e, machine, e->m, LLVMObjectFile, &e->out->object_bytes);
    }
    LLVMDisposeTargetData(layout);
    LLVMDisposeBuilder(e->b);
    LLVMDisposeModule(e->m);
    LLVMContextDispose(e->c);
}

static int generate(const kn_loops *l, const kn_codegen_options *o, kn_codegen_result *out, char *error, size_t error_bytes)
{
    *out = (kn_codegen_result){0};
    const kn_target *t = kn_target_find(o->target);
    unsigned target = t ? (unsigned)(t - kn_targets) : KN_N_TARGETS, tier = o->tier > 0;
    if (target < first_target || target > last_target) {
        snprintf(error, error_bytes, "this module makes no code for target '%s'", o->target);
        return -1;
    }
    LLVMTargetMachineRef machine = machine_take(target, tier, error, error_bytes);
    if (!machine) return -1;
    kn_emit e = {.l = l, .o = o, .out = out, .target = t, .error = error, .error_bytes = error_bytes, .vector_bytes = t->vector_bits / 8};
    kn_arena_init(&e.arena, NULL);
    run(&e, machine);
    machine_give(target, tier, machine);
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
