//! Writes candles into fixed buffers on the stack. Digits come from tables, four at a time, and a
//! string is written with one or two wide stores of which only a part is valid; the next write
//! overwrites the rest.

/// Four prices of at most 21 characters, a turnover of at most 38, three varints of at most 10
/// bytes, and their tags and lengths come to 166 bytes; the rest is room for writes that are wider
/// than their valid part.
const CANDLE_MAX: usize = 224;
/// The buffer of one candle, with room for a write that begins at its end.
pub(crate) type Sheet = [u8; SIZE + WIDEST];
const SIZE: usize = 256;
/// The widest single write.
const WIDEST: usize = 16;
const _: () = assert!(CANDLE_MAX + WIDEST <= SIZE);
/// No index into a sheet is beyond this, and masking with it shows that to the compiler: writes
/// then need no bounds check. The index is a plain number that functions take and return, so that
/// it stays in a register.
const MASK: usize = SIZE - 1;
const _: () = assert!(SIZE.is_power_of_two());

/// Several candles, flushed together.
pub(crate) type Book = [u8; BOOK + SIZE + WIDEST];
const BOOK: usize = 2048;
/// From here on there is no room for another candle.
pub(crate) const FULL: usize = BOOK;
const _: () = assert!(BOOK.is_power_of_two());

pub(crate) const fn book() -> Book {
    [0; BOOK + SIZE + WIDEST]
}

/// The sheet at an index before [`FULL`].
#[inline(always)]
pub(crate) fn sheet(book: &mut Book, at: usize) -> Option<&mut Sheet> {
    book.get_mut(at & (BOOK - 1)..)?.first_chunk_mut()
}

/// Turnover has this many decimals in every market.
const TURNOVER_DECIMALS: u32 = 3;
const MILLIONTHS: u32 = 6;
const FOUR_DIGITS: u64 = 10_000;
const TWELVE_DIGITS: u64 = 1_000_000_000_000;
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Ends the message that fills a sheet up to `at`, with its fields from the third byte on. Few are
/// 128 bytes or longer; those are moved to make room for a second length byte.
#[inline(always)]
pub(crate) fn end_message(sheet: &mut Sheet, tag: u8, at: usize) -> usize {
    let length = at - 2;
    if length >= 128 {
        return end_long_message(sheet, tag, at);
    }
    pair(sheet, 0, tag, length as u64);
    at
}

#[cold]
fn end_long_message(sheet: &mut Sheet, tag: u8, at: usize) -> usize {
    let length = at - 2;
    if at < SIZE {
        sheet.copy_within(2..at, 3);
    }
    byte(sheet, 0, tag);
    byte(sheet, 1, length as u8 | 128);
    byte(sheet, 2, (length >> 7) as u8);
    at + 1
}

/// The field of a number, omitted if zero.
#[inline(always)]
pub(crate) fn number(sheet: &mut Sheet, at: usize, tag: u8, value: i64) -> usize {
    if value == 0 {
        return at;
    }
    let value = value as u64;
    if value >> 28 != 0 {
        byte(sheet, at, tag);
        return long_varint(sheet, at + 1, value);
    }
    let bits = 64 - value.leading_zeros() as usize;
    let more = MORE.get(bits & 31).copied().unwrap_or_default();
    let flags = FLAGS.get(bits & 31).copied().unwrap_or_default();
    word(sheet, at, u64::from(tag) | (sevens(value) | u64::from(flags)) << 8);
    at + usize::from(more) + 2
}

/// How many bytes more than one a varint of so many bits takes, up to four in all.
#[expect(clippy::indexing_slicing, reason = "reckoned when compiled")]
static MORE: [u8; 32] = {
    let mut table = [0; 32];
    let mut bits = 8;
    while bits <= 28 {
        table[bits] = (bits as u8 - 1) / 7;
        bits += 1;
    }
    table
};

/// The continuation bits.
#[expect(clippy::indexing_slicing, reason = "reckoned when compiled")]
static FLAGS: [u32; 32] = {
    let mut table = [0; 32];
    let mut bits = 0;
    while bits < 32 {
        table[bits] = 0x8080_8080 & ((1u32 << (8 * MORE[bits])) - 1);
        bits += 1;
    }
    table
};

/// The field of a time: nearly every time takes five bytes.
#[inline(always)]
pub(crate) fn time(sheet: &mut Sheet, at: usize, tag: u8, seconds: i64) -> usize {
    let value = seconds as u64;
    if (value >> 28).wrapping_sub(1) >= 127 {
        return number(sheet, at, tag, seconds);
    }
    let low = sevens(value & 0x0fff_ffff) | 0x8080_8080;
    word(sheet, at, u64::from(tag) | low << 8 | (value >> 28) << 40);
    at + 6
}

/// Spreads 28 bits into four groups of seven, a byte each, halves first.
#[inline(always)]
fn sevens(value: u64) -> u64 {
    let halves = value & 0x3fff | (value & 0x0fff_c000) << 2;
    halves & 0x007f_007f | (halves & 0x3f80_3f80) << 1
}

#[inline(never)]
fn long_varint(sheet: &mut Sheet, mut at: usize, mut value: u64) -> usize {
    while value >= 128 {
        byte(sheet, at, value as u8 | 128);
        value >>= 7;
        at += 1;
    }
    byte(sheet, at, value as u8);
    at + 1
}

/// The fields of four prices, each a string with exactly `DECIMALS` decimals.
#[inline(always)]
pub(crate) fn prices<const DECIMALS: u32>(
    sheet: &mut Sheet,
    mut at: usize,
    tags: [u8; 4],
    prices: [i64; 4],
) -> usize {
    // Fast path: nearly all prices are small and have at most DECIMALS decimals, so that their text
    // fits in one word. `multiple` returns a huge value for any other price, so one test of the OR
    // covers all four.
    let steps = prices.map(|price| multiple(price as u64, const { MILLIONTHS - DECIMALS }));
    let [first, second, third, fourth] = steps;
    if DECIMALS <= 3 && (first | second | third | fourth) >> const { short_bits(DECIMALS) } == 0 {
        for (tag, steps) in tags.into_iter().zip(steps) {
            at = short_price::<DECIMALS>(sheet, at, tag, steps as u32);
        }
    } else {
        for (tag, price) in tags.into_iter().zip(prices) {
            at = rounded_price::<DECIMALS>(sheet, at, tag, price);
        }
    }
    at
}

/// The field of a price that may have to be rounded. Negative prices are huge as unsigned numbers.
#[inline(never)]
fn rounded_price<const DECIMALS: u32>(sheet: &mut Sheet, at: usize, tag: u8, millionths: i64) -> usize {
    if DECIMALS <= 3 && (millionths as u64) < (FOUR_DIGITS - 1) * 1_000_000 {
        let step = const { 10u64.pow(MILLIONTHS - DECIMALS) };
        return short_price::<DECIMALS>(sheet, at, tag, ((millionths as u64 + step / 2) / step) as u32);
    }
    decimal::<DECIMALS>(sheet, at, tag, millionths.into())
}

/// The number of bits of values that are surely below ten thousand with this many decimals.
const fn short_bits(decimals: u32) -> u32 {
    match FOUR_DIGITS.checked_mul(10u64.pow(decimals)) {
        Some(limit) => limit.ilog2(),
        None => 0,
    }
}

/// A number divided by a power of ten, if it is a multiple of it; otherwise a value above
/// `u64::MAX` divided by that power: powers of five have inverses modulo 2^64, and remainders of
/// powers of two are rotated to the top.
#[inline(always)]
fn multiple(value: u64, power: u32) -> u64 {
    // The inverse of five, modulo 2^64.
    const FIFTH: u64 = 0xcccc_cccc_cccc_cccd;
    value.wrapping_mul(FIFTH.wrapping_pow(power)).rotate_right(power)
}

/// The field of a price in steps, a word of text.
#[inline(always)]
fn short_price<const DECIMALS: u32>(sheet: &mut Sheet, at: usize, tag: u8, steps: u32) -> usize {
    let unit = const { 10u32.pow(if DECIMALS <= 3 { DECIMALS } else { 0 }) };
    let whole = steps / unit;
    let (text, digits) = trimmed(whole);
    let tail = const { if DECIMALS == 0 { 0 } else { 1 + DECIMALS } };
    let text = text | fraction::<DECIMALS>(steps - whole * unit) << (8 * digits);
    field(sheet, at, tag, digits + tail as usize, text);
    at + 2 + tail as usize + digits
}

#[inline(always)]
pub(crate) fn turnover(sheet: &mut Sheet, at: usize, tag: u8, millionths: i128) -> usize {
    // Nearly every turnover has no more than three decimals.
    let (high, low) = ((millionths >> 64) as i64, millionths as u64);
    let mut thousandths = multiple(low, 3);
    if high != 0 || thousandths >= TWELVE_DIGITS * 1000 {
        if high != 0 || low > (TWELVE_DIGITS - 1) * 1_000_000 {
            return decimal::<TURNOVER_DECIMALS>(sheet, at, tag, millionths);
        }
        thousandths = (low + 500) / 1000;
    }
    // Four digits before the point, and up to eight before them: their number changes from candle
    // to candle, and branching on it costs more than writing all.
    let whole = thousandths / 1000;
    let fraction = fraction::<TURNOVER_DECIMALS>((thousandths - whole * 1000) as u32);
    let high = whole / FOUR_DIGITS;
    let low = (whole - high * FOUR_DIGITS) as u32;
    let length = if high > 0 {
        let text = eight_digits(high as u32);
        let skipped = (text ^ ZEROS).trailing_zeros() & 0x38;
        let length = 12 - skipped as usize / 8;
        field(sheet, at, tag, length + 4, text >> skipped);
        word(sheet, at + length - 2, padded(low));
        length
    } else {
        let (text, digits) = trimmed(low);
        field(sheet, at, tag, digits + 4, text);
        digits
    };
    word(sheet, at + 2 + length, fraction);
    at + 6 + length
}

/// The field of a decimal of any size, rounded half away from zero; a value rounded to zero has no
/// sign. Rare enough to be written in the ordinary way.
#[inline(never)]
fn decimal<const DECIMALS: u32>(sheet: &mut Sheet, at: usize, tag: u8, millionths: i128) -> usize {
    let (negative, size) = (millionths < 0, millionths.unsigned_abs());
    let step = 10u128.pow(MILLIONTHS - DECIMALS);
    let rounded = size / step + u128::from(step > 1 && size % step >= step / 2);
    // The text is written from its end.
    let mut text = [0; 48];
    let mut from = text.len();
    let mut rest = rounded;
    let mut put = |character: u8| {
        from -= 1;
        if let Some(place) = text.get_mut(from) {
            *place = character;
        }
    };
    for place in 0.. {
        if place == DECIMALS && DECIMALS > 0 {
            put(b'.');
        }
        put(b'0' + (rest % 10) as u8);
        rest /= 10;
        if rest == 0 && place >= DECIMALS {
            break;
        }
    }
    if negative && rounded != 0 {
        put(b'-');
    }
    let text = text.get(from..).unwrap_or_default();
    pair(sheet, at, tag, text.len() as u64);
    if let Some(place) = sheet.get_mut(at + 2..at + 2 + text.len()) {
        place.copy_from_slice(text);
    }
    at + 2 + text.len()
}

/// Tag and length, followed by the first eight characters of a text.
#[inline(always)]
fn field(sheet: &mut Sheet, at: usize, tag: u8, length: usize, text: u64) {
    let at = at & MASK;
    pair(sheet, at, tag, length as u64);
    if let Some(place) = sheet.get_mut(at + 2..at + 10) {
        place.copy_from_slice(&text.to_le_bytes());
    }
}

#[inline(always)]
fn word(sheet: &mut Sheet, at: usize, word: u64) {
    let at = at & MASK;
    if let Some(place) = sheet.get_mut(at..at + 8) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

/// A tag and the length of its value.
#[inline(always)]
fn pair(sheet: &mut Sheet, at: usize, tag: u8, length: u64) {
    let at = at & MASK;
    if let Some(place) = sheet.get_mut(at..at + 2) {
        place.copy_from_slice(&(u16::from(tag) | (length as u16) << 8).to_le_bytes());
    }
}

#[inline(always)]
fn byte(sheet: &mut Sheet, at: usize, byte: u8) {
    if let Some(place) = sheet.get_mut(at & MASK) {
        *place = byte;
    }
}

/// The size of tables is a power of two, so that a mask shows the compiler that every look-up is in
/// bounds.
const PLACES: usize = 16_384;
const _: () = assert!(PLACES.is_power_of_two() && PLACES as u64 >= FOUR_DIGITS);

/// Four digits of every number below ten thousand, the first in the lowest byte.
#[expect(clippy::indexing_slicing, reason = "reckoned when compiled")]
static FOUR: [u32; PLACES] = {
    let mut table = [0; PLACES];
    let mut value = 0;
    while value < FOUR_DIGITS as usize {
        table[value] = u32::from_le_bytes([
            b'0' + (value / 1000) as u8,
            b'0' + (value / 100 % 10) as u8,
            b'0' + (value / 10 % 10) as u8,
            b'0' + (value % 10) as u8,
        ]);
        value += 1;
    }
    table
};

/// The same without leading zeros.
#[expect(clippy::indexing_slicing, reason = "reckoned when compiled")]
static TRIMMED: [u32; PLACES] = {
    let mut table = [0; PLACES];
    let mut value = 0;
    while value < FOUR_DIGITS as usize {
        table[value] = FOUR[value] >> (32 - 8 * digits_of(value));
        value += 1;
    }
    table
};

/// The number of digits without leading zeros.
#[expect(clippy::indexing_slicing, reason = "reckoned when compiled")]
static DIGITS: [u8; PLACES] = {
    let mut table = [0; PLACES];
    let mut value = 0;
    while value < FOUR_DIGITS as usize {
        table[value] = digits_of(value) as u8;
        value += 1;
    }
    table
};

const fn digits_of(value: usize) -> u32 {
    if value == 0 { 1 } else { value.ilog10() + 1 }
}

/// A number below a hundred million as eight digits.
#[inline(always)]
fn eight_digits(value: u32) -> u64 {
    let high = value / FOUR_DIGITS as u32;
    padded(high) | padded(value - high * FOUR_DIGITS as u32) << 32
}

/// A number below ten thousand as four digits.
#[inline(always)]
fn padded(value: u32) -> u64 {
    FOUR.get(value as usize & (PLACES - 1)).copied().unwrap_or_default().into()
}

/// A number below ten thousand without leading zeros, and its number of digits.
#[inline(always)]
fn trimmed(value: u32) -> (u64, usize) {
    let place = value as usize & (PLACES - 1);
    let text = TRIMMED.get(place).copied().unwrap_or_default();
    (text.into(), DIGITS.get(place).copied().unwrap_or_default().into())
}

/// A point and the decimals after it; nothing when there are none.
#[inline(always)]
fn fraction<const DECIMALS: u32>(value: u32) -> u64 {
    Fractions::<DECIMALS>::TABLE.get(value as usize & (FRACTIONS - 1)).copied().unwrap_or_default().into()
}

const FRACTIONS: usize = 1024;

struct Fractions<const DECIMALS: u32>;

impl<const DECIMALS: u32> Fractions<DECIMALS> {
    const TABLE: &'static [u32; FRACTIONS] = &{
        let mut table = [0; FRACTIONS];
        let mut value = 0;
        while DECIMALS > 0 && DECIMALS <= 3 && value < 10usize.pow(DECIMALS) {
            #[expect(clippy::indexing_slicing, reason = "reckoned when compiled")]
            let digits = FOUR[value];
            #[expect(clippy::indexing_slicing, reason = "reckoned when compiled")]
            {
                table[value] = digits >> (8 * (4 - DECIMALS)) << 8 | b'.' as u32;
            }
            value += 1;
        }
        table
    };
}

pub(crate) fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 128 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_hold_the_digits_of_every_number_below_ten_thousand() {
        for value in 0..FOUR_DIGITS as u32 {
            assert_eq!(padded(value).to_le_bytes()[..4], *format!("{value:04}").as_bytes());
            let ((text, digits), plain) = (trimmed(value), value.to_string());
            assert_eq!((digits, &text.to_le_bytes()[..plain.len()]), (plain.len(), plain.as_bytes()));
        }
        for value in (0..100_000).chain(99_900_000..100_000_000).chain((0..100_000_000).step_by(997)) {
            assert_eq!(eight_digits(value).to_le_bytes(), *format!("{value:08}").as_bytes());
        }
        for value in 0..1000 {
            assert_eq!(fraction::<3>(value).to_le_bytes()[..4], *format!(".{value:03}").as_bytes());
        }
        for value in 0..10 {
            assert_eq!(fraction::<1>(value).to_le_bytes()[..2], *format!(".{value}").as_bytes());
        }
        assert_eq!(fraction::<0>(0), 0);
    }

    #[test]
    fn multiples_are_divided_and_other_numbers_become_large() {
        for power in 0..=6 {
            let step = 10u64.pow(power);
            let largest = u64::MAX / step;
            for quotient in (0..2000).chain(largest - 2000..=largest) {
                assert_eq!(multiple(quotient * step, power), quotient);
            }
            for value in (0..20_000).chain(u64::MAX - 20_000..=u64::MAX).filter(|value| value % step != 0) {
                assert!(multiple(value, power) > largest, "{value} and 10^{power}");
            }
        }
        assert_eq!([0, 1, 2, 3].map(short_bits), [13, 16, 19, 23]);
    }
}
