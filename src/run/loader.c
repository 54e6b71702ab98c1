/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "run/loader.h"

#include <elf.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#else
enum { MACHINE = EM_AARCH64 };
#endif

typedef struct loader {
    kiln_ctx *ctx;
    const char *o; /* the object */
    size_t n;
    Elf64_Ehdr head;
    size_t *place; /* per section: where in the mapping; SIZE_MAX: not loaded */
    size_t symbols, nsymbols; /* offset and count of the symbol table */
    Elf64_Shdr names;         /* its strings */
    kn_code *code;
    size_t data_start;
} loader;

static kiln_status corrupt(loader *l, const char *what)
{
    return kn_fail(l->ctx, KILN_CORRUPT, "object code: %s", what);
}

static bool inside(size_t offset, size_t bytes, size_t n) { return offset <= n && bytes <= n - offset; }

#define CHECK(l, ok, what)                                                                         \
    do {                                                                                           \
        if (!(ok)) return corrupt((l), (what));                                                    \
    } while (0)

static Elf64_Shdr section(const loader *l, size_t i)
{
    Elf64_Shdr s;
    memcpy(&s, l->o + l->head.e_shoff + i * sizeof s, sizeof s);
    return s;
}

static kiln_status header(loader *l)
{
    CHECK(l, l->n >= sizeof l->head, "shorter than its header");
    memcpy(&l->head, l->o, sizeof l->head);
    const Elf64_Ehdr *h = &l->head;
    CHECK(l, memcmp(h->e_ident, ELFMAG, SELFMAG) == 0, "no ELF file");
    CHECK(l, h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_ident[EI_DATA] == ELFDATA2LSB && h->e_machine == MACHINE, "not for this processor");
    CHECK(l, h->e_type == ET_REL, "not relocatable");
    CHECK(l, h->e_shentsize == sizeof(Elf64_Shdr) && inside(h->e_shoff, (size_t)h->e_shnum * sizeof(Elf64_Shdr), l->n),
          "a section table outside of the file");
    return KILN_OK;
}

/* Gives each section that is loaded its place: code first, data on pages of their own. */
static kiln_status lay_out(loader *l)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), at = 0;
    for (int data = 0; data < 2; data++) {
        if (data) l->data_start = at;
        for (size_t i = 0; i < l->head.e_shnum; i++) {
            Elf64_Shdr s = section(l, i);
            if (!(s.sh_flags & SHF_ALLOC) || (s.sh_flags & SHF_EXECINSTR ? 0 : 1) != data) continue;
            if (s.sh_size == 0 || s.sh_type == SHT_X86_64_UNWIND) continue;
            CHECK(l, !(s.sh_flags & SHF_WRITE), "a writable section");
            CHECK(l, s.sh_type == SHT_PROGBITS, "a section of a type that is not loaded");
            CHECK(l, inside(s.sh_offset, s.sh_size, l->n), "a section outside of the file");
            size_t align = s.sh_addralign ? s.sh_addralign : 1;
            CHECK(l, !(align & (align - 1)) && align <= page, "a section's alignment");
            at = (at + align - 1) & ~(align - 1);
            l->place[i] = at;
            at += s.sh_size; /* cannot overflow: sections lie in the file, and there are few */
            CHECK(l, at <= INT32_MAX, "too large");
            *(data ? &l->code->data_bytes : &l->code->code_bytes) += s.sh_size;
        }
        at = (at + page - 1) & ~(page - 1);
    }
    CHECK(l, l->code->code_bytes > 0, "without code");
    l->code->bytes = at;
    return KILN_OK;
}

static kiln_status find_symbols(loader *l)
{
    size_t found = 0;
    for (size_t i = 0; i < l->head.e_shnum; i++) {
        Elf64_Shdr s = section(l, i);
        if (s.sh_type != SHT_SYMTAB) continue;
        CHECK(l, found++ == 0, "two symbol tables");
        CHECK(l, s.sh_entsize == sizeof(Elf64_Sym) && inside(s.sh_offset, s.sh_size, l->n), "a symbol table outside of the file");
        CHECK(l, s.sh_link < l->head.e_shnum, "a symbol table without names");
        l->symbols = s.sh_offset;
        l->nsymbols = s.sh_size / sizeof(Elf64_Sym);
        l->names = section(l, s.sh_link);
        CHECK(l, inside(l->names.sh_offset, l->names.sh_size, l->n), "names outside of the file");
        CHECK(l, l->names.sh_size && l->o[l->names.sh_offset + l->names.sh_size - 1] == 0, "names without an end");
    }
    CHECK(l, found == 1, "without a symbol table");
    return KILN_OK;
}

static kiln_status symbol(loader *l, size_t i, Elf64_Sym *out, const char **name)
{
    CHECK(l, i < l->nsymbols, "a symbol's number");
    memcpy(out, l->o + l->symbols + i * sizeof *out, sizeof *out);
    CHECK(l, out->st_name < l->names.sh_size, "a symbol's name");
    *name = l->o + l->names.sh_offset + out->st_name;
    return KILN_OK;
}

/* Its place in the mapping. */
static kiln_status symbol_place(loader *l, size_t i, size_t *out)
{
    Elf64_Sym s;
    const char *name;
    KILN_TRY(symbol(l, i, &s, &name));
    if (s.st_shndx == SHN_UNDEF)
        return kn_fail(l->ctx, KILN_COMPILE, "the object code needs a routine '%.60s' that is not in it", name);
    CHECK(l, s.st_shndx < l->head.e_shnum && l->place[s.st_shndx] != SIZE_MAX, "a symbol outside of what is loaded");
    CHECK(l, s.st_value <= section(l, s.st_shndx).sh_size, "a symbol outside of its section");
    *out = l->place[s.st_shndx] + s.st_value;
    return KILN_OK;
}

static kiln_status unknown_relocation(loader *l, unsigned type)
{
    return kn_fail(l->ctx, KILN_CORRUPT, "object code: a relocation of type %u", type);
}

/* Sets what stands at `place`, of a section in which so many bytes follow, to refer to the address `value`. */
#if defined(__x86_64__)
static kiln_status refer(loader *l, unsigned type, char *place, uint64_t room, uint64_t value)
{
    size_t wide = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
    int64_t relative = (int64_t)(value - (uint64_t)(uintptr_t)place);
    CHECK(l, wide <= room, "a relocation outside of its section");
    switch (type) {
    case R_X86_64_64: break;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
        CHECK(l, relative == (int32_t)relative, "a distance of more than 2 GiB");
        value = (uint64_t)relative;
        break;
    case R_X86_64_PC64: value = (uint64_t)relative; break;
    case R_X86_64_32S: CHECK(l, (int64_t)value == (int32_t)value, "an address that does not fit in 32 bits"); break;
    default: return unknown_relocation(l, type);
    }
    memcpy(place, &value, wide);
    return KILN_OK;
}
#else
/* The low 12 bits of an address in the instruction's field of 12 bits at bit 10, in units of the bytes that it moves. */
static kiln_status low_bits(loader *l, uint32_t *word, uint64_t value, unsigned shift)
{
    CHECK(l, (value & ((1u << shift) - 1)) == 0, "an address that is not aligned");
    *word = (*word & ~(0xfffu << 10)) | (uint32_t)((value & 0xfff) >> shift) << 10;
    return KILN_OK;
}

static kiln_status in_word(loader *l, unsigned type, uint64_t at, uint64_t value, uint32_t *word)
{
    int64_t relative = (int64_t)(value - at), pages = (int64_t)((value >> 12) - (at >> 12));
    switch (type) {
    case R_AARCH64_PREL32:
        CHECK(l, relative == (int32_t)relative, "a distance of more than 2 GiB");
        *word = (uint32_t)relative;
        return KILN_OK;
    case R_AARCH64_ADR_PREL_PG_HI21:
        CHECK(l, pages >= -(1 << 20) && pages < 1 << 20, "a distance of more than 4 GiB");
        *word = (*word & 0x9f00001f) | ((uint32_t)pages & 3) << 29 | ((uint32_t)(pages >> 2) & 0x7ffff) << 5;
        return KILN_OK;
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
        CHECK(l, relative % 4 == 0 && relative >= -(1 << 27) && relative < 1 << 27, "a jump of more than 128 MiB");
        *word = (*word & 0xfc000000) | ((uint32_t)(relative >> 2) & 0x3ffffff);
        return KILN_OK;
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC: return low_bits(l, word, value, 0);
    case R_AARCH64_LDST16_ABS_LO12_NC: return low_bits(l, word, value, 1);
    case R_AARCH64_LDST32_ABS_LO12_NC: return low_bits(l, word, value, 2);
    case R_AARCH64_LDST64_ABS_LO12_NC: return low_bits(l, word, value, 3);
    case R_AARCH64_LDST128_ABS_LO12_NC: return low_bits(l, word, value, 4);
    default: return unknown_relocation(l, type);
    }
}

static kiln_status refer(loader *l, unsigned type, char *place, uint64_t room, uint64_t value)
{
    bool wide = type == R_AARCH64_ABS64 || type == R_AARCH64_PREL64;
    uint64_t at = (uint64_t)(uintptr_t)place;
    uint32_t word;
    CHECK(l, room >= (wide ? 8 : 4), "a relocation outside of its section");
    if (wide) {
        if (type == R_AARCH64_PREL64) value -= at;
        memcpy(place, &value, sizeof value);
        return KILN_OK;
    }
    memcpy(&word, place, sizeof word);
    KILN_TRY(in_word(l, type, at, value, &word));
    memcpy(place, &word, sizeof word);
    return KILN_OK;
}
#endif

static kiln_status relocate(loader *l, size_t target, Elf64_Rela r)
{
    size_t s, bytes = section(l, target).sh_size;
    CHECK(l, r.r_offset <= bytes, "a relocation outside of its section");
    KILN_TRY(symbol_place(l, ELF64_R_SYM(r.r_info), &s));
    uint64_t value = (uint64_t)(uintptr_t)l->code->base + s + (uint64_t)r.r_addend;
    return refer(l, (unsigned)ELF64_R_TYPE(r.r_info), l->code->base + l->place[target] + r.r_offset, bytes - r.r_offset, value);
}

static kiln_status fill(loader *l)
{
    for (size_t i = 0; i < l->head.e_shnum; i++)
        if (l->place[i] != SIZE_MAX) {
            Elf64_Shdr s = section(l, i);
            memcpy(l->code->base + l->place[i], l->o + s.sh_offset, s.sh_size);
        }
    for (size_t i = 0; i < l->head.e_shnum; i++) {
        Elf64_Shdr s = section(l, i);
        if (s.sh_type != SHT_RELA && s.sh_type != SHT_REL) continue;
        CHECK(l, s.sh_info < l->head.e_shnum, "relocations of no section");
        if (l->place[s.sh_info] == SIZE_MAX) continue;
        CHECK(l, s.sh_type == SHT_RELA && s.sh_entsize == sizeof(Elf64_Rela), "relocations of another form");
        CHECK(l, inside(s.sh_offset, s.sh_size, l->n), "relocations outside of the file");
        for (size_t k = 0; k < s.sh_size / sizeof(Elf64_Rela); k++) {
            Elf64_Rela r;
            memcpy(&r, l->o + s.sh_offset + k * sizeof r, sizeof r);
            KILN_TRY(relocate(l, s.sh_info, r));
        }
    }
    return KILN_OK;
}

static kiln_status find(loader *l, const char *wanted, void **address)
{
    for (size_t i = 1; i < l->nsymbols; i++) {
        Elf64_Sym s;
        const char *name;
        size_t at;
        KILN_TRY(symbol(l, i, &s, &name));
        if (s.st_shndx == SHN_UNDEF) KILN_TRY(symbol_place(l, i, &at));
        if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || strcmp(name, wanted) != 0) continue;
        KILN_TRY(symbol_place(l, i, &at));
        CHECK(l, at < l->data_start, "an entry outside of the code");
        *address = l->code->base + at;
    }
    CHECK(l, *address, "without its entry");
    return KILN_OK;
}

static kiln_status map(loader *l)
{
    void *p = mmap(NULL, l->code->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return kn_fail(l->ctx, KILN_NOMEM, "no memory for %zu bytes of code", l->code->bytes);
    l->code->base = p;
    return KILN_OK;
}

static kiln_status protect(loader *l)
{
    size_t data = l->code->bytes - l->data_start;
    __builtin___clear_cache(l->code->base, l->code->base + l->data_start);
    if (mprotect(l->code->base, l->data_start, PROT_READ | PROT_EXEC) != 0 ||
        (data && mprotect(l->code->base + l->data_start, data, PROT_READ) != 0))
        return kn_fail(l->ctx, KILN_COMPILE, "the system does not let code be made executable");
    return KILN_OK;
}

static kiln_status load(loader *l, const char *wanted, void **address)
{
    KILN_TRY(header(l));
    l->place = kn_new_aligned(&l->ctx->alloc, ((size_t)l->head.e_shnum + 1) * sizeof *l->place, 16);
    KILN_TRY_MEM(l->ctx, l->place);
    for (size_t i = 0; i <= l->head.e_shnum; i++) l->place[i] = SIZE_MAX;
    KILN_TRY(lay_out(l));
    KILN_TRY(find_symbols(l));
    KILN_TRY(map(l));
    KILN_TRY(fill(l));
    KILN_TRY(find(l, wanted, address));
    return protect(l);
}

kiln_status kn_code_load(kiln_ctx *ctx, const void *object, size_t n, const char *symbol_name, kn_code *out, void **address)
{
    *out = (kn_code){0};
    *address = NULL;
    loader l = {.ctx = ctx, .o = object, .n = n, .code = out};
    kiln_status status = load(&l, symbol_name, address);
    if (l.place) kn_free_aligned(&ctx->alloc, l.place, ((size_t)l.head.e_shnum + 1) * sizeof *l.place, 16);
    if (status != KILN_OK) {
        kn_code_free(out);
        *address = NULL;
    }
    return status;
}

void kn_code_free(kn_code *c)
{
    if (c->base) munmap(c->base, c->bytes);
    *c = (kn_code){0};
}
