/* Floating-point conversions of the formatter (included by it): 15 digits are right, no more. */

static int put_digits(char *to, uint64_t value, int least)
{
    char digits[20];
    int count = 0, written = 0;

    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value || count < least);
    while (count)
        to[written++] = digits[--count];
    return written;
}

/* value < 2^63, with `places` digits behind the point. */
static int put_fixed(char *to, double value, int places, bool point)
{
    uint64_t whole = (uint64_t)value, scale = 1;
    int written;

    for (int i = 0; i < places; i++)
        scale *= 10;
    uint64_t part = (uint64_t)((value - (double)whole) * (double)scale + 0.5);
    if (part >= scale) {
        part -= scale;
        whole++;
    }
    written = put_digits(to, whole, 1);
    if (places || point)
        to[written++] = '.';
    if (places)
        written += put_digits(to + written, part, places);
    return written;
}

/* Makes 1 <= value < 10; gives the power of ten that was taken out. */
static int normalise(double *value)
{
    int exponent = 0;

    if (*value == 0)
        return 0;
    for (; *value >= 1e16; exponent += 16)
        *value /= 1e16;
    for (; *value < 1e-15; exponent -= 16)
        *value *= 1e16;
    for (; *value >= 10; exponent++)
        *value /= 10;
    for (; *value < 1; exponent--)
        *value *= 10;
    return exponent;
}

static double half_of_last(int places)
{
    double half = 0.5;

    while (places-- > 0)
        half /= 10;
    return half;
}

static int strip_zeros(const char *text, int length)
{
    if (!memchr(text, '.', (size_t)length))
        return length;
    while (text[length - 1] == '0')
        length--;
    return text[length - 1] == '.' ? length - 1 : length;
}

static int put_exponent(char *to, char letter, int exponent)
{
    to[0] = letter;
    to[1] = exponent < 0 ? '-' : '+';
    return 2 + put_digits(to + 2, (uint64_t)(exponent < 0 ? -exponent : exponent), 2);
}

static int put_scientific(char *to, double value, int places, char letter, const spec_t *spec,
                          bool strip)
{
    int exponent = normalise(&value);

    if (value + half_of_last(places) >= 10) {
        value /= 10;
        exponent++;
    }
    int written = put_fixed(to, value, places, spec->alternate);
    if (strip)
        written = strip_zeros(to, written);
    return written + put_exponent(to + written, letter, exponent);
}

static void put_double(sink_t *out, spec_t *spec, char letter, double value)
{
    char text[48];
    int length = 0, places = spec->precision < 0 ? 6 : spec->precision;
    bool upper = letter < 'a', negative = __builtin_signbit(value);
    char kind = (char)(letter | 32);

    value = __builtin_fabs(value);
    if (negative || spec->sign)
        text[length++] = negative ? '-' : spec->sign;
    int sign = length;
    if (value != value || value > 1.7976931348623157e308) {
        memcpy(text + length, value != value ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf"), 3);
        put_text(out, spec, text, length + 3);
        return;
    }
    if (places > 17)
        places = 17;
    if (kind == 'g') {
        double scaled = value;
        int digits = places ? places : 1, exponent = normalise(&scaled);
        if (scaled + half_of_last(digits - 1) >= 10)
            exponent++;
        if (exponent >= -4 && exponent < digits) {
            places = digits - 1 - exponent;
            length += put_fixed(text + length, value, places > 17 ? 17 : places, spec->alternate);
            if (!spec->alternate)
                length = sign + strip_zeros(text + sign, length - sign);
        } else {
            length += put_scientific(text + length, value, digits - 1, upper ? 'E' : 'e', spec,
                                     !spec->alternate);
        }
    } else if (kind == 'f' && value < 9e18) {
        length += put_fixed(text + length, value, places, spec->alternate);
    } else {
        length += put_scientific(text + length, value, places, upper ? 'E' : 'e', spec, false);
    }
    if (spec->zero && !spec->left && spec->width > length) {
        for (int i = 0; i < sign; i++)
            emit(out, text[i]);
        pad(out, '0', spec->width - length);
        spec->width = 0;
        put_text(out, spec, text + sign, length - sign);
        return;
    }
    put_text(out, spec, text, length);
}
