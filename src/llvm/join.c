/* SPDX-License-Identifier: Apache-2.0 */
/* Two relocatable objects as one: what one of them needs and the other defines is bound by name. Of both stay the sections that are loaded,
 * their relocations and all symbols, the local ones first. */
#include "llvm/join.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

typedef struct part {
    const char *o;
    Elf64_Ehdr head;
    Elf64_Shdr symtab, names;
    uint32_t nsymbols, nlocal;
    uint32_t *section, *symbol; /* old number -> new one */
    uint64_t names_at;          /* of its names among all */
} part;

typedef struct joiner {
    part p[2];
    Elf64_Shdr *sections; /* made; the last ones are the symbols and the names */
    Elf64_Sym *symbols;
    uint32_t nsections, nsymbols, nlocal;
    char *out;
    size_t at, room;
} joiner;

static Elf64_Shdr section(const part *p, uint32_t i)
{
    Elf64_Shdr s;
    memcpy(&s, p->o + p->head.e_shoff + i * sizeof s, sizeof s);
    return s;
}

static Elf64_Sym symbol(const part *p, uint32_t i)
{
    Elf64_Sym s;
    memcpy(&s, p->o + p->symtab.sh_offset + i * sizeof s, sizeof s);
    return s;
}

static const char *name_of(const part *p, const Elf64_Sym *s) { return p->o + p->names.sh_offset + s->st_name; }

static bool is_loaded(const Elf64_Shdr *s) { return (s->sh_flags & SHF_ALLOC) && s->sh_size && s->sh_type == SHT_PROGBITS; }

static bool stays(const part *p, const Elf64_Shdr *s)
{
    if (s->sh_type != SHT_RELA) return is_loaded(s);
    Elf64_Shdr of = section(p, s->sh_info);
    return is_loaded(&of);
}

static bool open_part(part *p, const char *o)
{
    p->o = o;
    memcpy(&p->head, o, sizeof p->head);
    for (uint32_t i = 0; i < p->head.e_shnum; i++) {
        Elf64_Shdr s = section(p, i);
        if (s.sh_type != SHT_SYMTAB) continue;
        p->symtab = s, p->names = section(p, s.sh_link);
        p->nsymbols = (uint32_t)(s.sh_size / sizeof(Elf64_Sym)), p->nlocal = s.sh_info;
    }
    p->section = calloc(p->head.e_shnum + 1u, sizeof *p->section);
    p->symbol = calloc(p->nsymbols + 1u, sizeof *p->symbol);
    return p->section && p->symbol;
}

/* ---- symbols ---- */

static void add_symbol(joiner *j, part *p, uint32_t i)
{
    Elf64_Sym s = symbol(p, i);
    if (s.st_shndx < SHN_LORESERVE) s.st_shndx = (Elf64_Section)p->section[s.st_shndx];
    s.st_name += (Elf64_Word)p->names_at;
    p->symbol[i] = j->nsymbols;
    j->symbols[j->nsymbols++] = s;
}

static void add_locals(joiner *j, part *p, uint32_t from)
{
    for (uint32_t i = from; i < p->nlocal; i++) {
        Elf64_Sym s = symbol(p, i);
        /* of a section that is left out nothing refers to it */
        if (s.st_shndx == SHN_UNDEF || s.st_shndx >= SHN_LORESERVE || p->section[s.st_shndx] || i == 0) add_symbol(j, p, i);
    }
}

/* Where the other part defines what this one needs: its number there, or 0. */
static uint32_t defined(const part *p, const char *name)
{
    for (uint32_t i = p->nlocal; i < p->nsymbols; i++) {
        Elf64_Sym s = symbol(p, i);
        if (s.st_shndx != SHN_UNDEF && strcmp(name_of(p, &s), name) == 0) return i;
    }
    return 0;
}

static void add_globals(joiner *j)
{
    for (int k = 0; k < 2; k++)
        for (uint32_t i = j->p[k].nlocal; i < j->p[k].nsymbols; i++)
            if (symbol(&j->p[k], i).st_shndx != SHN_UNDEF) add_symbol(j, &j->p[k], i);
    for (int k = 0; k < 2; k++)
        for (uint32_t i = j->p[k].nlocal; i < j->p[k].nsymbols; i++) {
            Elf64_Sym s = symbol(&j->p[k], i);
            uint32_t there = s.st_shndx == SHN_UNDEF ? defined(&j->p[!k], name_of(&j->p[k], &s)) : 0;
            if (there) j->p[k].symbol[i] = j->p[!k].symbol[there];
            else if (s.st_shndx == SHN_UNDEF) add_symbol(j, &j->p[k], i);
        }
}

/* ---- the file ---- */

static void align_to(joiner *j, size_t align)
{
    while (align > 1 && j->at % align) j->out[j->at++] = 0;
}

static void put(joiner *j, const void *p, size_t n)
{
    memcpy(j->out + j->at, p, n);
    j->at += n;
}

static void number_sections(joiner *j)
{
    j->nsections = 1;
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 1; i < j->p[k].head.e_shnum; i++) {
            Elf64_Shdr s = section(&j->p[k], i);
            if (stays(&j->p[k], &s)) j->p[k].section[i] = j->nsections++;
        }
}

/* The name of a section stands among its object's section names, which are one more table of names to append. */
static void put_sections(joiner *j, const size_t names_at[2])
{
    for (int k = 0; k < 2; k++) {
        part *p = &j->p[k];
        for (uint32_t i = 1; i < p->head.e_shnum; i++) {
            Elf64_Shdr s = section(p, i);
            if (!p->section[i]) continue;
            align_to(j, s.sh_addralign);
            size_t from = s.sh_offset;
            s.sh_offset = j->at;
            s.sh_name += (Elf64_Word)names_at[k];
            put(j, p->o + from, s.sh_size);
            if (s.sh_type == SHT_RELA) {
                s.sh_link = j->nsections, s.sh_info = p->section[s.sh_info];
                for (size_t r = 0; r < s.sh_size; r += sizeof(Elf64_Rela)) {
                    Elf64_Rela one;
                    memcpy(&one, j->out + s.sh_offset + r, sizeof one);
                    one.r_info = ELF64_R_INFO((uint64_t)p->symbol[ELF64_R_SYM(one.r_info)], ELF64_R_TYPE(one.r_info));
                    memcpy(j->out + s.sh_offset + r, &one, sizeof one);
                }
            }
            j->sections[p->section[i]] = s;
        }
    }
}

static void put_tables(joiner *j, const Elf64_Shdr names[4])
{
    Elf64_Shdr *symtab = &j->sections[j->nsections], *strings = symtab + 1;
    align_to(j, sizeof(uint64_t));
    *symtab = (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_offset = j->at, .sh_size = j->nsymbols * sizeof(Elf64_Sym), .sh_link = j->nsections + 1,
                           .sh_info = j->nlocal, .sh_addralign = 8, .sh_entsize = sizeof(Elf64_Sym)};
    put(j, j->symbols, symtab->sh_size);
    *strings = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = j->at, .sh_addralign = 1};
    for (int k = 0; k < 4; k++) put(j, j->p[k % 2].o + names[k].sh_offset, names[k].sh_size);
    strings->sh_size = j->at - strings->sh_offset;
    align_to(j, sizeof(uint64_t));
    Elf64_Ehdr head = j->p[0].head;
    head.e_shoff = j->at, head.e_shnum = (Elf64_Half)(j->nsections + 2), head.e_shstrndx = (Elf64_Half)(j->nsections + 1);
    put(j, j->sections, head.e_shnum * sizeof(Elf64_Shdr));
    memcpy(j->out, &head, sizeof head);
}

static bool join(joiner *j, size_t bytes)
{
    Elf64_Shdr names[4]; /* of symbols, then of sections */
    size_t names_at[2];
    for (int k = 0; k < 2; k++) {
        names[k] = j->p[k].names;
        names[2 + k] = section(&j->p[k], j->p[k].head.e_shstrndx);
    }
    j->p[1].names_at = names[0].sh_size;
    names_at[0] = names[0].sh_size + names[1].sh_size, names_at[1] = names_at[0] + names[2].sh_size;
    number_sections(j);
    uint32_t most = j->p[0].nsymbols + j->p[1].nsymbols;
    j->sections = calloc(j->nsections + 2u, sizeof *j->sections);
    j->symbols = calloc(most, sizeof *j->symbols);
    /* Names of sections may stand twice, each section is aligned anew, and there are tables behind. */
    j->room = 2 * bytes + 128 * (j->nsections + 4u) + sizeof(Elf64_Ehdr);
    j->out = malloc(j->room);
    if (!j->sections || !j->symbols || !j->out) return false;
    add_locals(j, &j->p[0], 0);
    add_locals(j, &j->p[1], 1);
    j->nlocal = j->nsymbols;
    add_globals(j);
    j->at = sizeof(Elf64_Ehdr);
    put_sections(j, names_at);
    put_tables(j, names);
    return true;
}

char *kn_objects_join(const char *a, size_t a_bytes, const char *b, size_t b_bytes, size_t *bytes)
{
    joiner j = {.p = {{0}, {0}}};
    bool ok = open_part(&j.p[0], a) && open_part(&j.p[1], b) && join(&j, a_bytes + b_bytes);
    for (int k = 0; k < 2; k++) free(j.p[k].section), free(j.p[k].symbol);
    free(j.sections);
    free(j.symbols);
    if (!ok) free(j.out), j.out = NULL;
    *bytes = j.at;
    return j.out;
}
