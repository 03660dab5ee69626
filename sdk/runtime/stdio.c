/* Formatted output. One engine writes characters to a buffer or, one byte store each, to the
 * standard-output device of this HPU. Takes about 250 bytes of stack. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "pinion_rt.h"

/* Where characters go: a machine's sink.h brings sink_t, emit, device and finish. */
#if defined(PINION_NANOPU)
#include "../nanopu/runtime/sink.h"
#elif defined(PINION_NATIVE)
#include "../native/sink.h"
#else
#include "sink.h"
#endif

/* One conversion: what the characters between % and the letter said. */
typedef struct {
    int width, precision; /* precision < 0: none given */
    bool left, zero, alternate;
    char sign; /* 0, '+' or ' ' */
    char length; /* 0, 'h', 'H' (hh), 'l', 'L' (64 bit) */
} spec_t;

static void pad(sink_t *out, char c, int count)
{
    while (count-- > 0)
        emit(out, c);
}

/* Divides by a base of at most 16, in place, with 32-bit divisions only; returns the remainder. */
static unsigned divide(uint64_t *value, unsigned base)
{
    uint32_t high = (uint32_t)(*value >> 32), low = (uint32_t)*value, middle, rest;

    if (!high) {
        *value = low / base;
        return low % base;
    }
    rest = high % base;
    middle = rest << 16 | low >> 16;
    low = (middle % base) << 16 | (low & 0xffff);
    *value = (uint64_t)(high / base) << 32 | (uint64_t)(middle / base) << 16 | 0;
    *value += low / base;
    return low % base;
}

static void put_number(sink_t *out, const spec_t *spec, uint64_t value, bool negative,
                       unsigned base, char a)
{
    char digits[22], prefix[2];
    int count = 0, prefixes = 0, zeros = 0;
    bool is_zero = value == 0;

    if (!is_zero || spec->precision != 0) {
        do {
            unsigned digit = divide(&value, base);
            digits[count++] = (char)(digit < 10 ? '0' + digit : a + digit - 10);
        } while (value);
    }
    if (negative)
        prefix[prefixes++] = '-';
    else if (spec->sign)
        prefix[prefixes++] = spec->sign;
    if (spec->alternate && base == 16 && !is_zero) {
        prefix[prefixes++] = '0';
        prefix[prefixes++] = (char)(a + 'x' - 'a');
    }
    if (spec->alternate && base == 8 && spec->precision <= count &&
        (count == 0 || digits[count - 1] != '0'))
        digits[count++] = '0';
    if (spec->precision > count)
        zeros = spec->precision - count;
    if (spec->zero && !spec->left && spec->precision < 0 && spec->width > count + prefixes)
        zeros = spec->width - count - prefixes;

    int blanks = spec->width - prefixes - zeros - count;
    if (!spec->left)
        pad(out, ' ', blanks);
    for (int i = 0; i < prefixes; i++)
        emit(out, prefix[i]);
    pad(out, '0', zeros);
    while (count)
        emit(out, digits[--count]);
    if (spec->left)
        pad(out, ' ', blanks);
}

static void put_text(sink_t *out, const spec_t *spec, const char *text, int length)
{
    if (!spec->left)
        pad(out, ' ', spec->width - length);
    for (int i = 0; i < length; i++)
        emit(out, text[i]);
    if (spec->left)
        pad(out, ' ', spec->width - length);
}

static int read_number(const char **format)
{
    int value = 0;

    while (**format >= '0' && **format <= '9')
        value = value * 10 + *(*format)++ - '0';
    return value;
}

static uint64_t take_unsigned(va_list *args, char length)
{
    switch (length) {
    case 'L':
        return va_arg(*args, unsigned long long);
    case 'h':
        return (uint16_t)va_arg(*args, unsigned);
    case 'H':
        return (uint8_t)va_arg(*args, unsigned);
    case 'l':
        return va_arg(*args, unsigned long);
    default:
        return va_arg(*args, unsigned);
    }
}

static int64_t take_signed(va_list *args, char length)
{
    switch (length) {
    case 'L':
        return va_arg(*args, long long);
    case 'h':
        return (int16_t)va_arg(*args, int);
    case 'H':
        return (int8_t)va_arg(*args, int);
    case 'l':
        return va_arg(*args, long);
    default:
        return va_arg(*args, int);
    }
}

/* Reads flags, width, precision and length; leaves `format` at the conversion letter. */
static void read_spec(spec_t *spec, const char **format, va_list *args)
{
    *spec = (spec_t){ .precision = -1 };
    for (;; (*format)++) {
        char c = **format;
        if (c == '-')
            spec->left = true;
        else if (c == '0')
            spec->zero = true;
        else if (c == '#')
            spec->alternate = true;
        else if (c == '+' || (c == ' ' && !spec->sign))
            spec->sign = c;
        else if (c != ' ')
            break;
    }
    if (**format == '*') {
        (*format)++;
        spec->width = va_arg(*args, int);
        if (spec->width < 0) {
            spec->left = true;
            spec->width = -spec->width;
        }
    } else {
        spec->width = read_number(format);
    }
    if (**format == '.') {
        (*format)++;
        if (**format == '*') {
            (*format)++;
            spec->precision = va_arg(*args, int);
        } else {
            spec->precision = read_number(format);
        }
    }
    for (;; (*format)++) {
        char c = **format;
        if (c == 'h')
            spec->length = spec->length == 'h' ? 'H' : 'h';
        else if (c == 'l')
            spec->length = spec->length == 'l' ? 'L' : 'l';
        else if (c == 'j' || c == 'L')
            spec->length = 'L';
        else if (c == 'z' || c == 't')
            spec->length = 'l';
        else
            break;
    }
}

#ifdef PINION_NANOPU
#include "../nanopu/runtime/double.h"
#else
static void put_double(sink_t *out, const spec_t *spec, char letter, double value)
{
    (void)letter;
    (void)value;
    put_text(out, spec, "(float)", 7);
}
#endif

static unsigned base_of(char letter)
{
    return letter == 'u' ? 10 : letter == 'o' ? 8 : 16;
}

static void put_signed(sink_t *out, spec_t *spec, int64_t value)
{
    put_number(out, spec, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0, 10, 'a');
}

static void convert(sink_t *out, spec_t *spec, char letter, va_list *args)
{
    const char *text;
    char c;

    switch (letter) {
    case 'd':
    case 'i':
        put_signed(out, spec, take_signed(args, spec->length));
        return;
    case 'u':
    case 'o':
    case 'x':
    case 'X':
        spec->sign = 0;
        put_number(out, spec, take_unsigned(args, spec->length), false, base_of(letter),
                   letter == 'X' ? 'A' : 'a');
        return;
    case 'p':
        spec->alternate = true;
        put_number(out, spec, (uintptr_t)va_arg(*args, void *), false, 16, 'a');
        return;
    case 'c':
        c = (char)va_arg(*args, int);
        put_text(out, spec, &c, 1);
        return;
    case 's':
        text = va_arg(*args, const char *);
        if (!text)
            text = "(null)";
        put_text(out, spec, text, (int)strnlen(text, (size_t)spec->precision));
        return;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
        put_double(out, spec, letter, va_arg(*args, double));
        return;
    default:
        emit(out, letter);
    }
}

static int format_to(sink_t *out, const char *format, va_list *args)
{
    spec_t spec;

    for (; *format; format++) {
        if (*format != '%') {
            emit(out, *format);
            continue;
        }
        format++;
        read_spec(&spec, &format, args);
        if (!*format)
            break;
        convert(out, &spec, *format, args);
    }
    return out->written;
}

int vprintf(const char *restrict format, va_list args)
{
    sink_t out = device();
    va_list copy;

    va_copy(copy, args);
    format_to(&out, format, &copy);
    va_end(copy);
    finish(&out);
    return out.written;
}

int printf(const char *restrict format, ...)
{
    va_list args;

    va_start(args, format);
    int written = vprintf(format, args);
    va_end(args);
    return written;
}

int fprintf(FILE *stream, const char *restrict format, ...)
{
    va_list args;

    (void)stream;
    va_start(args, format);
    int written = vprintf(format, args);
    va_end(args);
    return written;
}

int vsnprintf(char *restrict to, size_t bytes, const char *restrict format, va_list args)
{
    sink_t out = { .at = to, .room = bytes };
    va_list copy;

    va_copy(copy, args);
    format_to(&out, format, &copy);
    va_end(copy);
    if (bytes)
        *out.at = 0;
    return out.written;
}

int snprintf(char *restrict to, size_t bytes, const char *restrict format, ...)
{
    va_list args;

    va_start(args, format);
    int written = vsnprintf(to, bytes, format, args);
    va_end(args);
    return written;
}

int sprintf(char *restrict to, const char *restrict format, ...)
{
    va_list args;

    va_start(args, format);
    int written = vsnprintf(to, 0x7fffffff, format, args);
    va_end(args);
    return written;
}

int putchar(int c)
{
    sink_t out = device();

    emit(&out, (char)c);
    finish(&out);
    return (uint8_t)c;
}

int fputc(int c, FILE *stream)
{
    (void)stream;
    return putchar(c);
}

int putc(int c, FILE *stream)
{
    (void)stream;
    return putchar(c);
}

int fputs(const char *s, FILE *stream)
{
    sink_t out = device();

    (void)stream;
    while (*s)
        emit(&out, *s++);
    finish(&out);
    return 0;
}

int puts(const char *s)
{
    fputs(s, stdout);
    putchar('\n');
    return 0;
}

int fflush(FILE *stream)
{
    (void)stream;
    return 0;
}
