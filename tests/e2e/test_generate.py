#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_generate.py - `sonde generate`: the events of a description are those of
the trace, whichever compiler builds them; a generated function is the tracepoint
one would write; XML and YAML are two faces of one thing; errors name the place."""

import json
import pathlib
import random
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

from sonde import BUILD, SONDE, build, install, record_ok, require, run, scratch
from harness import Skip, check, check_equal, main, test

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHOP = ROOT / "examples/shop-events.xml"
SCHEMA = ROOT / "src/generate/sonde-events.rng"


def generate(*words, status=0):
    done = run(SONDE, "generate", *words)
    check_equal(done.returncode, status, f"{words}: {done.stderr}")
    return done


def needs(language):
    """Without the library there is nothing to test here."""
    install()
    path = scratch() / f"x.{language}"
    path.write_text('<events provider="p"/>' if language == "xml"
                    else "events: p\n")
    said = run(SONDE, "generate", path).stderr
    if "it lacks" in said:
        raise Skip(said)


def described(text, language="xml"):
    needs(language)
    path = scratch() / f"d.{language}"
    path.write_text(text)
    return path


# ---- events ----

def payloads(trace):
    lines = run(SONDE, "print", "--json", trace.dir).stdout.splitlines()
    return [(event["event"], event["payload"])
            for event in map(json.loads, lines)]


ORDERED = {"number": 1, "customer": "Ada", "state": "paid",
           "articles": [4711, 8]}
PAID = [{"cash": 1995}, {"card": {"digits": "4711", "tries": 2}},
        {"vouchers": {"data": [20, 50]}}, {"favour": "washed up"},
        {"none": {}}]
PACKED = {"weight": 1.5, "outside": {"width": 210, "height": 297},
          "label": "fragile, this si"}


def plain(value):
    """Of an enumeration, the label; without lengths."""
    if isinstance(value, dict):
        if set(value) == {"value", "label"}:
            return value["label"]
        return {name: plain(inner) for name, inner in value.items()
                if not name.startswith("_") and name != "length"}
    return value


def check_shop(trace):
    events = payloads(trace)
    check_equal([name for name, _ in events],
                ["shop:opened"] + ["shop:ordered", "shop:packed"] * 3 +
                ["shop:paid"] * len(PAID) + ["shop:scanned", "shop:closed"],
                "events")
    paid = [plain(payload) for name, payload in events if name == "shop:paid"]
    check_equal([(payment["payment_tag"], payment["payment"])
                 for payment in paid],
                [("_" + next(iter(option)), option) for option in PAID], "paid")
    found = {name: plain(payload) for name, payload in reversed(events)}
    check_equal(found["shop:ordered"], ORDERED, "ordered")
    check_equal(found["shop:packed"], {"number": 1, "parcel": PACKED}, "packed")
    scanned = found["shop:scanned"]
    check_equal((scanned["port"], scanned["strip"], scanned["bin"],
                 scanned["tag"]), (0x50, [1, -2, 3, -4], 21, "blue"),
                str(scanned))
    closed = found["shop:closed"]
    check_equal((closed["balance"], closed["ratio"]), (-12, 0.5), str(closed))
    return found


@test
def described_events_by_each_compiler_are_read_alike():
    needs("xml")
    directory = scratch()
    generate(SHOP, "--header", directory / "shop-events.h")
    source = (ROOT / "examples/shop.c").read_text()
    flags = [f"-I{directory}", "-Wextra", "-Werror"]
    check_shop(record_ok(build(source, "-std=c11", *flags)))
    check_shop(record_ok(build(source, "-xc++", "-std=c++17", *flags)))
    if shutil.which("clang"):
        check_shop(record_ok(build(source, "-m64", *flags, compiler="clang")))
    check_shop(record_ok(BUILD.resolve() / "examples/shop"))


@test
def babeltrace2_reads_the_same_values():
    needs("xml")
    require("babeltrace2")
    trace = record_ok(BUILD.resolve() / "examples/shop")
    text = "\n".join(trace.text())
    for part in ('number = 1, customer = "Ada", state = ( "paid" : '
                 'container = 1 )', "[0] = 4711, [1] = 8",
                 'weight = 1.5, outside = { width = 210, height = 297 }, '
                 'label = "fragile, this si"', "code = 0xC0FFEE, port = 80",
                 "balance = -12, ratio = 0.5",
                 'payment_tag = ( "_cash" : container = 0 ), '
                 'payment = { 1995 }',
                 'payment = { { digits = "4711", tries = 2 } }',
                 "payment = { { length = 2, data = [ [0] = 20, [1] = 50 ] } }",
                 'payment = { "washed up" }',
                 'payment_tag = ( "_none" : container = 4 )'):
        check(part in text, f"{part}\n{text}")
    listed = run(SONDE, "list", trace.dir).stdout
    check("under way=2..9" in listed, listed)


# ---- metadata ----

def blocks_1_8(text):
    """The events' blocks without what a trace numbers, by name."""
    blocks = {}
    for block in re.findall(r"^event \{\n.*?^\};\n", text, re.M | re.S):
        name = re.search(r'\tname = "(.*)";', block)[1]
        blocks[name] = re.sub(r"\t(id|stream_id) = \d+;\n", "", block)
    return blocks


def fragments_2(text):
    events = {}
    for fragment in map(json.loads, filter(str.strip, text.split("\x1e"))):
        if fragment["type"] == "event-record-class":
            for key in ("id", "data-stream-class-id"):
                fragment.pop(key, None)
            events[fragment.get("name", "")] = fragment
    return events


@test
def metadata_are_those_of_a_recording():
    needs("xml")
    directory = scratch()
    for version, parts in (("1.8", blocks_1_8), ("2", fragments_2)):
        recorded = record_ok(BUILD.resolve() / "examples/shop",
                             options=("--ctf", version))
        there = parts((recorded.dir / "metadata").read_text())
        generate(SHOP, "--metadata", directory / "metadata", "--ctf", version)
        made = parts((directory / "metadata").read_text())
        check_equal({name: part for name, part in there.items()
                     if name.startswith("shop:")},
                    {name: part for name, part in made.items()
                     if name.startswith("shop:")}, f"CTF {version}")
        check_equal(len([name for name in made if name.startswith("shop:")]),
                    6, "events")
    again = generate(SHOP, "--metadata", "-").stdout
    check_equal(again, generate(SHOP, "--metadata", "-").stdout, "twice")
    said = generate(SHOP, "--metadata", "-", "--ctf", "3", status=2).stderr
    check("1.8 or 2" in said, said)


def check_read(path, directory):
    """The metadata of a description are read, and so is an empty trace."""
    folder = directory / "trace"
    folder.mkdir(exist_ok=True)
    generate(path, "--metadata", folder / "metadata")
    done = run("babeltrace2", "-o", "ctf-metadata", folder)
    check_equal(done.returncode, 0, f"{path}: {done.stderr}")
    check_equal(run("babeltrace2", folder).stderr, "", f"{path}")
    events = ET.parse(path).getroot().findall("event")
    check_equal(len(blocks_1_8(done.stdout)), len(events) + 1, f"{path}")


# ---- cost ----

TWICE = r"""
#include "HEADER"
void by_hand(uint32_t number, const char *customer, uint8_t state,
	     size_t nr_articles, const uint32_t *articles,
	     const struct shop_parcel *parcel);
void generated(uint32_t number, const char *customer, uint8_t state,
	       size_t nr_articles, const uint32_t *articles,
	       const struct shop_parcel *parcel);
void NAME(uint32_t number, const char *customer, uint8_t state,
	  size_t nr_articles, const uint32_t *articles,
	  const struct shop_parcel *parcel)
{
	BODY
}
"""
BY_HAND = r"""
	sonde_event_level(shop, ordered, SONDE_NOTICE, number,
		sonde_string(customer, customer),
		sonde_enum(state, state, sonde_label("open", 0),
			   sonde_label("paid", 1),
			   sonde_range("under way", 2, 9)),
		sonde_sequence(articles, articles, nr_articles));
	sonde_event(shop, packed, number, sonde_struct(parcel,
		sonde_field(weight, parcel->weight),
		sonde_struct(outside,
			sonde_field(width, parcel->outside.width),
			sonde_field(height, parcel->outside.height)),
		sonde_string_max(label, parcel->label, 16)));
"""
GENERATED = """
	shop_ordered(number, customer, state, nr_articles, articles);
	shop_packed(number, parcel);
"""


def instructions(source, name):
    """Of a function, without addresses."""
    directory = scratch()
    path = directory / "f.c"
    path.write_text(source)
    subprocess.run(["gcc", "-O2", "-c", path, f"-I{ROOT / 'include'}", "-o",
                    directory / "f.o"], check=True)
    text = subprocess.check_output(
        ["objdump", "-d", "--no-show-raw-insn", "--no-addresses",
         directory / "f.o"], text=True)
    code = [block for block in text.split("\n\n")
            if re.match(rf"<\w*{name}\w*(\.cold)?>:", block.strip())]
    check(code, text)
    return re.sub(r"<[^>]*>|\b[0-9a-f]+ (?=<)", "", "\n".join(code)).strip()


@test
def a_generated_function_is_the_tracepoint_written_by_hand():
    needs("xml")
    header = scratch() / "shop-events.h"
    generate(SHOP, "--header", header)
    code = [instructions(
        TWICE.replace("HEADER", str(header)).replace("BODY", body)
        .replace("NAME", name), name)
        for name, body in (("by_hand", BY_HAND), ("generated", GENERATED))]
    check(len(code[0].splitlines()) > 40, code[0])
    check_equal(code[1], code[0], "instructions")


def sections(path):
    text = subprocess.check_output(["size", "-A", path], text=True)
    return {words[0]: int(words[1]) for words in map(str.split,
            text.splitlines()) if len(words) == 3 and words[1].isdigit()}


@test
def events_that_nobody_calls_leave_nothing():
    fields = ('<field name="a" type="u32"/><field name="b" type="string"/>'
              '<field name="c" type="u64" sequence="yes"/>')
    many = "".join(f'<event name="e{i}">{fields}</event>' for i in range(1000))
    header = scratch() / "many.h"
    generate(described(f'<events provider="many">{many}</events>'), "--header",
             header)
    for flags in (), ("-xc++",):
        source = "int main() { return 0; }\n"
        without = sections(build(source, *flags))
        linked = sections(build(f'#include "{header}"\n' + source, *flags))
        for name in ".text", ".rodata", ".data", ".init_array":
            more = linked.get(name, 0) - without.get(name, 0)
            check(more <= 0 or name == ".text" and not flags and more < 256 or
                  name == ".init_array" and more <= 8,
                  f"{flags} {name}: {more} bytes for 1000 events")


# ---- two languages ----

NUMBERS = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "int", "uint",
           "long", "ulong", "short", "ushort", "size", "ssize"]
LEVELS = ["emerg", "err", "warning", "info", "debug_line", "debug"]
WORDS = ['a "word"', "<&>", "back\\slash", "é ü", "two\nlines", "tab\t", "no: 1",
         "- x", "#", "null", "~", " blank ", "yes", "'", "*/", "/*"]


class Model:
    """A random description, right by construction."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.nr = 0
        self.types = []
        self.root = ET.Element("events", provider=f"p{seed}")
        self.about(self.root)
        for _ in range(self.random.randrange(4)):
            self.add_enum()
        for _ in range(self.random.randrange(4)):
            self.fields(self.element(self.root, "struct"), 1)
            self.types.append(self.root[-1].get("name"))
        for _ in range(self.random.randrange(2)):
            self.fields(self.element(self.root, "variant"), 1)
            self.types.append(self.root[-1].get("name"))
        for _ in range(self.random.randrange(6)):
            event = self.element(self.root, "event")
            if self.random.random() < 0.5:
                event.set("level", self.random.choice(LEVELS))
            self.fields(event, 0)

    def about(self, element):
        if self.random.random() < 0.3:
            element.set("about", " ".join(
                self.random.choices(WORDS, k=self.random.randrange(1, 4))))

    def element(self, parent, kind):
        self.nr += 1
        element = ET.SubElement(parent, kind, name=f"{kind}{self.nr}")
        self.about(element)
        return element

    def add_enum(self):
        enum = self.element(self.root, "enum")
        enum.set("type", self.random.choice(NUMBERS))
        for i in range(self.random.randrange(1, 9)):
            label = ET.SubElement(enum, "label", name=self.random.choice(
                ["x", "UP", "two words", 'q"', "*/", "?", "\\"]) + str(i))
            if self.random.random() < 0.5:
                label.set("value", str(10 * i))
            else:
                label.set("first", str(10 * i))
                label.set("last", str(10 * i + 5))
        self.types.append(enum.get("name"))

    def fields(self, group, least):
        # they nest up to 4 deep: a structure in a variant in an event, here
        usable = [t for t in self.types if group.tag == "event" or
                  t.startswith("enum") or
                  group.tag == "variant" and t.startswith("struct")]
        for _ in range(self.random.randrange(least, 7)):
            field = self.element(group, "field")
            kind = self.random.randrange(6)
            if kind == 0 and usable:
                field.set("type", self.random.choice(usable))
            elif kind == 1:
                field.set("type", "string")
                if self.random.random() < 0.5:
                    field.set("max", str(self.random.randrange(1, 100)))
            elif kind == 2:
                field.set("type", self.random.choice(
                    ["blob", "bool", "char", "pointer", "float", "double"]))
            else:
                self.number(field)

    def number(self, field):
        name = self.random.choice(NUMBERS)
        field.set("type", name)
        key, value = self.random.choice(
            [("base", "16"), ("order", "host"), ("bits", "3"), ("array", "3"),
             ("sequence", "yes"), ("base", "10")])
        field.set(key, value)


def round_trip(seed, directory):
    path, yaml, first, second = (directory / f"{seed}{name}" for name in
                                 ("in.xml", ".yaml", "1.xml", "2.xml"))
    ET.ElementTree(Model(seed).root).write(path, encoding="UTF-8",
                                           xml_declaration=True)
    generate(path, "--yaml", yaml, "--xml", first, "--header",
             directory / f"{seed}.h")
    generate(yaml, "--xml", second, "--doc", directory / f"{seed}.md")
    check_equal(second.read_text(), first.read_text(), f"seed {seed}")
    check_equal(canonical(first), canonical(path), f"seed {seed}: as given")
    return path


def canonical(path):
    """ElementTree, which knows nothing of ours, as the witness."""
    return [(e.tag, dict(e.attrib)) for e in ET.parse(path).getroot().iter()]


@test
def random_descriptions_come_back_as_they_were():
    needs("xml")
    needs("yaml")
    directory = scratch()
    paths = [round_trip(seed, directory) for seed in range(100)]
    if shutil.which("babeltrace2"):
        for path in paths[::4]:
            check_read(path, directory)
    # the headers are right C, all in one program
    source = "".join(f'#include "{directory}/{seed}.h"\n'
                     for seed in range(100))
    build(source + "int main(void) { return 0; }\n", "-Wextra", "-Werror",
          "-fsyntax-only")
    if shutil.which("xmllint"):
        done = run("xmllint", "--noout", "--relaxng", SCHEMA, SHOP, *paths)
        check_equal(done.returncode, 0, done.stderr[-2000:])


@test
def characters_that_yaml_has_a_meaning_for_come_back():
    needs("xml")
    about = "a\x7f\x80\x85\xa0\u2028b\u2029c\ufeff\t\n\u00e9\\\""
    first, second = scratch() / "1.xml", scratch() / "2.xml"
    yaml = scratch() / "1.yaml"
    generate(described("events: p\nabout: " + json.dumps(about) + "\n", "yaml"),
             "--xml", first, "--yaml", yaml)
    generate(yaml, "--xml", second)
    for path in first, second:
        check_equal(ET.parse(path).getroot().get("about"), about, path.name)


@test
def random_descriptions_calls_compile_in_both_languages():
    needs("xml")
    directory = scratch()
    source = "#include <string.h>\n"
    calls = ""
    for seed in range(1000, 1008):
        path = directory / f"{seed}.xml"
        ET.ElementTree(Model(seed).root).write(path)
        generate(path, "--header", directory / f"{seed}.h")
        header = (directory / f"{seed}.h").read_text()
        source += f'#include "{directory}/{seed}.h"\n'
        # taking its address makes a function be, with all that is in it
        for name, args in re.findall(r"^SONDE_GENERATED void (\w+)\((.*)\)$",
                                     header, re.M):
            calls += f"\t{{ void (*volatile call)({args}) = {name}; " \
                     f"(void)call; }}\n"
    source += f"int main(void)\n{{\n{calls}\treturn 0;\n}}\n"
    build(source, "-Wextra", "-Werror")
    build(source, "-xc++", "-Wextra", "-Werror")


# ---- what is wrong ----

WRONG = [
    ('<events provider="p">\n  <evnt name="a"/></events>',
     "2:3: no 'evnt' can be in 'events'; did you mean 'event'?"),
    ('<events provider="p">\n <event name="a">\n  <field name="x" '
     'type="u33"/></event></events>',
     "3:3: no type 'u33' before here; did you mean 'u32'?"),
    ('<events provider="p"><event name="a" lvel="info"/></events>',
     "1:22: 'event' has no 'lvel'; did you mean 'level'?"),
    ('<events provider="p"><event name="a" level="inof"/></events>',
     "1:22: no level 'inof'; did you mean 'info'?"),
    ('<events provider="p"><event name="while"/></events>',
     "1:22: 'while' can't be a name: C or C++ has this word already"),
    ('<events provider="p"><event name="a"/><event name="a"/></events>',
     "1:39: there is an event 'a' already"),
    ('<events provider="p"><enum name="e" type="u8"><label name="a" '
     'value="256"/></enum></events>',
     "1:47: value='256' is no number that 'uint8_t' holds"),
    ('<events provider="p">words</events>', "text between elements"),
    ('<!DOCTYPE events [<!ENTITY a "b">]><events provider="p"/>',
     "no document type is taken"),
    ('<events provider="p"><event name="a">', ":1:38: "),
    ('<events provider="p"><variant name="v"/></events>',
     "1:22: a variant needs a field"),
    ('<events provider="p"><variant name="v"><field name="a" type="u8"/>'
     '</variant><variant name="w"><field name="b" type="v"/></variant></events>',
     "1:77: the option 'b' can't be a variant itself; put a structure around"),
    ('<events provider="p"><variant name="v"><field name="a" type="u8"/>'
     '<field name="A" type="u8"/></variant></events>',
     "1:22: 'a' and 'A' would be one constant"),
    ('<events provider="p"><enum name="e" type="u8"><label name="f_up" value="1"/>'
     '</enum><enum name="e_F" type="u8"><label name="down" value="0"/>'
     '<label name="UP" value="1"/></enum></events>',
     "1:84: 'UP' of 'e_F' and 'f_up' of 'e' would be one constant"),
    ('<events provider="p"><variant name="e"><field name="a" type="u8"/></variant>'
     '<enum name="E" type="u8"><label name="None" value="1"/></enum></events>',
     "1:77: 'None' of 'E' and 'none' of 'e' would be one constant"),
    ('<events provider="p"><variant name="v"><field name="none" type="u8"/>'
     '</variant></events>', "1:22: 'none' can't be an option"),
    ("", "the file is empty"),
    ('<events provider="p"><include file="none.xml"/></events>',
     "none.xml: No such file"),
]
WRONG_YAML = [
    ("events: p\ncontents:\n- evnt: a\n", "3:3: no 'evnt' can be in"),
    ("events: p\ncontents:\n- event: a\n  fields:\n  - field: x\n"
     "    type: strin\n", "5:5: no type 'strin' before here; did you mean "
     "'string'?"),
    ("events: p\ncontents: &a\n- event: b\n- *a\n", "4:3: a mapping"),
    ("events: [\n", "1:9: a word or number is expected here"),
    ("events: 'p\n", "found unexpected end of stream"),
    ('events: p\nabout: "a\\vb"\n',
     "2:1: 'about' has a character that XML can't have"),
    ('events: p\nabout: "\\uffff"\n',
     "2:1: 'about' has a character that XML can't have"),
]


@test
def errors_name_the_place_and_what_was_meant():
    for language, wrongs in ("xml", WRONG), ("yaml", WRONG_YAML):
        for text, expected in wrongs:
            path = described(text, language)
            said = generate(path, status=1).stderr
            check(expected in said and said.count("\n") == 1 and
                  said.startswith("sonde: "), f"{text}\n{said}")


@test
def includes_bring_types_and_end():
    directory = scratch()
    common, user = directory / "common.xml", directory / "user.xml"
    needs("xml")
    common.write_text('<events provider="base"><include file="user.xml"/>'
                      '<struct name="point"><field name="x" type="int"/>'
                      '</struct><event name="not_mine"/></events>')
    user.write_text('<events provider="user"><include file="common.xml"/>'
                    '<event name="moved"><field name="to" type="point"/>'
                    '</event></events>')
    header = generate(user, "--header", "-").stdout
    check("user_moved(const struct base_point *to)" in header and
          "not_mine" not in header, header)


# ---- versions ----

def changed(*replaced):
    text = SHOP.read_text()
    for old, new in replaced:
        check(old in text, old)
        text = text.replace(old, new)
    return described(text)


@test
def check_tells_compatible_from_incompatible_changes():
    compatible = changed(('name="number" type="u32"/>',
                          'name="number" type="u64"/>'),
                         ('name="paid" value="1"/>', 'name="paid" value="1"/>'
                          '<label name="lost" value="99"/>'),
                         ('<event name="opened"', '<event name="fresh"/>'
                          '<event name="opened"'))
    said = generate("--check", SHOP, compatible).stdout
    check_equal(sorted(said.splitlines()), sorted([
        "compatible: shop:ordered.state: label 'lost' is new",
        "compatible: shop:packed.number: 32 bits, now 64",
        "compatible: shop:paid.number: 32 bits, now 64",
        "compatible: shop:fresh: event is new"]), said)
    said = generate("--check", compatible, SHOP, status=1).stdout
    check_equal(said.count("incompatible: "), 4, said)
    gone = changed(('<field name="width" type="u16"/>', ""))
    said = generate("--check", SHOP, gone, status=1).stdout
    check_equal(said, "incompatible: shop:packed.parcel.outside.width: field "
                "is gone\n", "a field of a structure")
    options = changed(('<field name="favour" type="string"/>',
                       '<field name="debt" type="u64"/>'),
                      ('<field name="card" type="card"/>',
                       '<field name="card" type="string"/>'))
    said = generate("--check", SHOP, options, status=1).stdout
    check_equal(said.splitlines(), [
        "incompatible: shop:paid.payment.card: another type: structure, now "
        "const char *",
        "incompatible: shop:paid.payment.favour: field is gone",
        "compatible: shop:paid.payment: field 'debt' is new"],
        "a variant's options")
    check_equal(generate("--check", SHOP, SHOP).stdout, "", "the same")


# What readers see of two versions, by their metadata alone.

def is_made(name):
    """Lengths and tags, which readers need and nobody asks for."""
    return name.startswith("_") or name.endswith("_tag")


def members_by_name(classes):
    return {m["name"]: m["field-class"] for m in classes
            if not is_made(m["name"]) and m["name"] != "none"}


def labels(cls):
    return {(name, *ends) for name, ranges in cls.get("mappings", {}).items()
            for ends in ranges}


def serves(new, old):
    """Whether who knows the old class understands the new one."""
    if new["type"] != old["type"] or ("mappings" in new) != ("mappings" in old):
        return False
    if "element-field-class" in old:
        mine, other = new["element-field-class"], old["element-field-class"]
        blob = "preferred-display-base"
        return serves(mine, other) and (blob in mine) == (blob in other) and \
            (new["type"] != "static-length-array" or new["length"] == old["length"])
    if "member-classes" in old or "options" in old:
        key = "options" if "options" in old else "member-classes"
        mine, other = members_by_name(new[key]), members_by_name(old[key])
        return all(name in mine and serves(mine[name], cls)
                   for name, cls in other.items())
    return new.get("length", 0) >= old.get("length", 0) and labels(old) <= labels(new)


def event_classes(path):
    text = generate(path, "--metadata", "-", "--ctf", "2").stdout
    fragments = [json.loads(part) for part in text.split("\x1e") if part.strip()]
    return {f["name"]: f["payload-field-class"] for f in fragments
            if f["type"] == "event-record-class" and not f["name"].startswith("sonde:")}


def change(root, chance):
    """One thing about it; the tree may be wrong then."""
    element = chance.choice([e for e in root.iter() if e is not root] or [root])
    parent = next((p for p in root.iter() if element in p), None)
    what = chance.randrange(5)
    if what == 0 and parent is not None:
        parent.remove(element)
    elif what == 1 and element.tag in ("field", "label", "event"):
        element.set("name", element.get("name") + "new")
    elif what == 2 and element.tag in ("struct", "variant", "event"):
        ET.SubElement(element, "field", name="added", type="u8")
    elif element.tag in ("field", "enum") and element.get("type") in NUMBERS:
        element.set("type", chance.choice(NUMBERS))
    elif element.get("array"):
        element.set("array", str(chance.randrange(2, 5)))
    elif element.get("type") in ("float", "double"):
        element.set("type", chance.choice(["float", "double", "string"]))
    elif element.get("value"):
        element.set("value", str(chance.randrange(100)))
    elif element.tag == "event":
        element.set("level", chance.choice(LEVELS))


@test
def check_says_what_the_two_metadata_say():
    needs("xml")
    directory = scratch()
    said = []
    for seed in range(60):
        model, chance = Model(seed), random.Random(seed)
        old, new = directory / "old.xml", directory / "new.xml"
        ET.ElementTree(model.root).write(old)
        change(model.root, chance)
        ET.ElementTree(model.root).write(new)
        if run(SONDE, "generate", new).returncode:
            continue  # no description any more
        before, after = event_classes(old), event_classes(new)
        fits = all(name in after and serves(after[name], cls)
                   for name, cls in before.items())
        done = run(SONDE, "generate", "--check", old, new)
        check_equal(done.returncode == 0, fits, f"seed {seed}: {done.stdout}")
        said.append(fits)
    check(said.count(True) > 5 and said.count(False) > 5, said)


# ---- checksums ----

FIRST = """<events provider="mill"><event name="ground">
 <field name="sacks" type="u32"/></event><event name="idle"/></events>"""
SECOND = FIRST.replace('type="u32"/>',
                       'type="u64"/><field name="flour" type="string"/>')
CALLS = {FIRST: "mill_ground(7);", SECOND: 'mill_ground(8, "rye");'}


def mill(version, *flags, body="int main(void) { CALL mill_idle(); }"):
    header = described(version).with_suffix(".h")
    generate(header.with_suffix(".xml"), "--header", header)
    return build(f'#include "{header}"\n' +
                 body.replace("CALL", CALLS[version]), *flags)


def checksum(version):
    return re.search("Checksum `([0-9a-f]{16})`", generate(
        described(version), "--doc", "-").stdout)[1]


def check_two_mills(trace):
    """Each version's events are decoded as its own, and listed beside its
    checksum, those too that have the same fields."""
    grinding = [plain(payload) for name, payload in payloads(trace)
                if name == "mill:ground"]
    check_equal(sorted(grinding, key=len),
                [{"sacks": 7}, {"sacks": 8, "flour": "rye"}], "ground")
    listed = json.loads(run(SONDE, "list", "--json", trace.dir).stdout)
    check_equal(sorted((event["event"], event["description"], event["conflict"])
                       for event in listed),
                sorted((name, checksum(version), True)
                       for name in ("mill:ground", "mill:idle")
                       for version in (FIRST, SECOND)), "listed")


@test
def two_versions_in_two_processes_are_not_mixed():
    needs("xml")
    first, second = mill(FIRST), mill(SECOND, "-xc++")
    for ctf in "1.8", "2":
        trace = record_ok("sh", "-c", f"{first} && {second}",
                          options=("--ctf", ctf))
        check_two_mills(trace)
        metadata = (trace.dir / "metadata").read_text()
        for version in FIRST, SECOND:
            check(f"sonde:mill:{checksum(version)}" in metadata, metadata)
    table = run(SONDE, "list", trace.dir).stdout
    check("DESCRIPTION" in table and checksum(FIRST) in table, table)
    listed = run(SONDE, "list", first).stdout
    check(checksum(FIRST) in listed and checksum(SECOND) not in listed, listed)
    plain_event = build('#include <sonde/tracepoint.h>\n'
                        "int main(void) { sonde_event(a, b); }")
    check("DESCRIPTION" not in run(SONDE, "list", plain_event).stdout, "plain")


@test
def two_versions_in_one_process_are_not_mixed():
    needs("xml")
    library = mill(SECOND, "-shared", "-fPIC",
                   body="void second(void) { CALL mill_idle(); }")
    program = mill(FIRST, library, f"-Wl,-rpath,{scratch()}",
                   body="void second(void);\n"
                   "int main(void) { CALL mill_idle(); second(); }")
    trace = record_ok(program)
    check_two_mills(trace)
    if shutil.which("babeltrace2"):
        text = "\n".join(trace.text())
        check("{ sacks = 7 }" in text and
              '{ sacks = 8, flour = "rye" }' in text, text)


@test
def the_checksum_is_of_what_readers_see():
    needs("xml")
    known = "ef51f1f4aaa82816"
    check_equal(checksum(FIRST), known, "it may never change")
    for same in (FIRST.replace("<events ", '<events about="grain" '),
                 FIRST.replace('name="idle"', 'name="idle" level="info"')):
        check_equal(checksum(same), known, same)
    for other in (SECOND, FIRST.replace("mill", "mall"),
                  FIRST.replace('name="idle"', 'name="idle" level="debug"'),
                  FIRST.replace("sacks", "bags")):
        check(checksum(other) != known, other)


@test
def a_kernels_header_is_refused_what_it_cannot_have():
    def said(body, *words, provider="p"):
        path = described(f'<events provider="{provider}">{body}</events>')
        done = run(SONDE, "generate", path, "--target", "kernel", "--header",
                   "-", *words)
        check_equal((done.returncode == 0, done.stdout == ""), (False, True),
                    done.stdout)
        return done.stderr

    for field in ('name="w" type="float"', 'name="w" type="double" array="3"',
                  'name="s" type="outer"'):
        text = said('<struct name="inner"><field name="w" type="double"/>'
                    '</struct><struct name="outer"><field name="i" '
                    f'type="inner"/></struct><event name="e"><field {field}/>'
                    "</event>")
        check("'e': 'w' is of floating point" in text, text)
    text = said(f'<event name="{"e" * 58}"/>', provider="p" * 61)
    check("118 characters" in text, text)
    text = said('<event name="e"/>', "--metadata", "-")
    check("who records" in text, text)


@test
def a_kernels_event_has_the_description_of_a_programs():
    path = described('<events provider="mill"><event name="ground" '
                     'level="notice"><field name="sacks" type="u32"/></event>'
                     "</events>")
    done = generate(path, "--target", "kernel", "--header", "-")
    note = done.stdout.partition("SONDE_KERNEL_NOTE_(mill_ground, ")[2]
    size, *numbers = map(int, re.findall(r"\d+", note.partition(";")[0]))
    check_equal(len(numbers), size, "bytes")
    header = scratch() / "mill.h"
    generate(path, "--header", header)
    program = build(f'#include "{header}"\n'
                    "int main(void) { mill_ground(1); return 0; }")
    # but for the line, which is none
    theirs = pathlib.Path(program).read_bytes()
    at = theirs.find(bytes(numbers[:8]))
    ours = bytes(numbers)
    pairs = [i for i in range(size) if theirs[at + i] != ours[i]]
    check(at > 0 and len(pairs) <= 4 and (not pairs or
                                          pairs[-1] - pairs[0] < 4),
          f"{at}: {pairs} of {size}")


@test
def documentation_has_all_of_it():
    needs("xml")
    text = generate(SHOP, "--doc", "-").stdout
    for part in ("# Events of `shop`", "## `shop:ordered`", "Level `notice`.",
                 "| `number` | `uint32_t` | "
                 "of the order |", "| under way | 2 to 9 |",
                 "| `label` | `const char *`, at most 16 bytes |",
                 "## Type `payment`", "| `payment` | `payment` |",
                 "| `favour` | `const char *` |"):
        check(part in text, f"{part}\n{text}")


if __name__ == "__main__":
    main()
