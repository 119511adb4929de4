# SPDX-License-Identifier: MIT
"""Runs in GDB: lets it compile expressions, and shows what it makes of them.

The output is a part of agent_corpus.txt, as agent_corpus.h says. GDB shows
compiled expressions as text, so they are put together again here.
"""
import os
import re

import gdb

OPCODES = {
    'float': (0x01, 0), 'add': (0x02, 0), 'sub': (0x03, 0), 'mul': (0x04, 0),
    'div_signed': (0x05, 0), 'div_unsigned': (0x06, 0),
    'rem_signed': (0x07, 0), 'rem_unsigned': (0x08, 0), 'lsh': (0x09, 0),
    'rsh_signed': (0x0a, 0), 'rsh_unsigned': (0x0b, 0), 'trace': (0x0c, 0),
    'trace_quick': (0x0d, 1), 'log_not': (0x0e, 0), 'bit_and': (0x0f, 0),
    'bit_or': (0x10, 0), 'bit_xor': (0x11, 0), 'bit_not': (0x12, 0),
    'equal': (0x13, 0), 'less_signed': (0x14, 0), 'less_unsigned': (0x15, 0),
    'ext': (0x16, 1), 'ref8': (0x17, 0), 'ref16': (0x18, 0),
    'ref32': (0x19, 0), 'ref64': (0x1a, 0), 'if_goto': (0x20, 2),
    'goto': (0x21, 2), 'const8': (0x22, 1), 'const16': (0x23, 2),
    'const32': (0x24, 4), 'const64': (0x25, 8), 'reg': (0x26, 2),
    'end': (0x27, 0), 'dup': (0x28, 0), 'pop': (0x29, 0),
    'zero_ext': (0x2a, 1), 'swap': (0x2b, 0), 'getv': (0x2c, 2),
    'setv': (0x2d, 2), 'tracev': (0x2e, 2), 'tracenz': (0x2f, 0),
    'trace16': (0x30, 2), 'pick': (0x32, 1), 'rot': (0x33, 0),
}
REGISTERS = ('rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 '
             'rip eflags cs ss ds es fs gs fs_base gs_base').split()
LINE = re.compile(r'^\s*(\d+)\s+(\w+)(?:\s+(-?\d+))?')
MASK = (1 << 64) - 1


def compiled(command, expression):
    """The bytes of an expression, or None."""
    try:
        text = gdb.execute(f'{command} {expression}', to_string=True)
    except gdb.error:
        return None
    code = b''
    for line in text.splitlines():
        match = LINE.match(line)
        if not match or match.group(2) not in OPCODES:
            continue
        number, width = OPCODES[match.group(2)]
        if int(match.group(1)) != len(code):
            raise gdb.GdbError(f'{expression}: {line}')
        operand = int(match.group(3) or 0) & ((1 << 8 * width) - 1)
        code += bytes([number]) + operand.to_bytes(width, 'big')
    return code.hex()


def number_of(expression):
    value = gdb.parse_and_eval(expression)
    return int(value.cast(gdb.lookup_type('long long'))) & MASK


def register(name):
    """A number, of whatever type GDB has for it."""
    text = gdb.execute(f'print/x ${name}', to_string=True)
    return re.search(r'0x(\w+)', text).group(1)


def value_of(expression):
    try:
        return f'{number_of(expression):x}'
    except gdb.MemoryError:
        return 'fault'
    except gdb.error as error:
        return 'divided' if 'zero' in str(error) else '-'


def show_memory(low, high):
    data = gdb.selected_inferior().read_memory(low, high - low).tobytes()
    print(f'memory {low:x} {data.hex()}')


def sections():
    """The parts of the program that hold its variables and texts."""
    text = gdb.execute('info files', to_string=True)
    for line in text.splitlines():
        match = re.match(r'\s*0x(\w+) - 0x(\w+) is \.(data|bss|rodata)$', line)
        if match:
            yield int(match.group(1), 16), int(match.group(2), 16)


def main():
    gdb.execute('set pagination off')
    gdb.execute('break ' + os.environ['CORPUS_STOP'])
    gdb.execute('run', to_string=True)
    with open(os.environ['CORPUS_EXPRESSIONS'], encoding='utf-8') as lines:
        expressions = [line.strip() for line in lines if line.strip()]
    known = []
    print('build ' + os.environ['CORPUS_BUILD'])
    for expression in expressions:
        code = compiled('maint agent-eval', expression)
        if code:
            known.append(expression)
            print(f'condition {code} {expression}')
    for expression in expressions:
        code = compiled('maint agent', expression)
        if code:
            print(f'collection {code} {expression}')
    for _ in range(3):
        print('stop')
        print('registers ' + ' '.join(map(register, REGISTERS)))
        for low, high in sections():
            show_memory(low, high)
        top = number_of('$rsp')
        show_memory(top - 128, top + 640)
        # an assignment's value is its right side's
        print('values ' + ' '.join(value_of(e.split('=')[1])
                                   if re.match(r'\w+ = ', e) else value_of(e)
                                   for e in known))
        gdb.execute('continue', to_string=True)


main()
