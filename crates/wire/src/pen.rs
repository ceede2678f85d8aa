//! Encodes candles into fixed buffers on the stack. Digits come from lookup tables, four at a time.
//! A string is written with a few 8-byte stores that may be longer than the string; the next write
//! overwrites the excess.

/// Upper bound of an encoded candle in bytes. Four prices of up to 21 characters, a turnover of up
/// to 38, three varints of up to 10 bytes, and their tags and lengths take 166 bytes; the remainder
/// is slack for stores that are longer than the text.
const CANDLE_MAX: usize = 224;
/// Buffer for one encoded candle, with slack for a store that begins at the end of the candle.
pub(crate) type Sheet = [u8; SIZE + WIDEST];
const SIZE: usize = 256;
/// Maximum size of a single store, in bytes.
const WIDEST: usize = 16;
const _: () = assert!(CANDLE_MAX + WIDEST <= SIZE);
/// Mask for every index into a sheet. Masking proves to the compiler that the index is in bounds,
/// and removes the bounds check. Functions take and return the index as a plain number, so that it
/// stays in a register.
const MASK: usize = SIZE - 1;
const _: () = assert!(SIZE.is_power_of_two());

/// Buffer for several encoded candles, which are flushed together.
pub(crate) type Book = [u8; BOOK + SIZE + WIDEST];
const BOOK: usize = 2048;
/// Number of bytes at which the book must be flushed before the next candle.
pub(crate) const FULL: usize = BOOK;
const _: () = assert!(BOOK.is_power_of_two());

pub(crate) const fn book() -> Book {
    [0; BOOK + SIZE + WIDEST]
}

/// Returns the sheet that begins at offset `at` of the book. `at` must be less than [`FULL`].
#[inline(always)]
pub(crate) fn sheet(book: &mut Book, at: usize) -> Option<&mut Sheet> {
    book.get_mut(at & (BOOK - 1)..)?.first_chunk_mut()
}

/// Number of turnover decimals, the same in every market.
const TURNOVER_DECIMALS: u32 = 3;
const MILLIONTHS: u32 = 6;
const FOUR_DIGITS: u64 = 10_000;
const TWELVE_DIGITS: u64 = 1_000_000_000_000;
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Writes the tag and length of the message in `sheet[2..at]`, and returns the end of the message.
/// A message of 128 bytes or more, which is rare, is shifted by one byte to make room for a second
/// length byte.
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

/// Appends an integer field, which is omitted if `value` is zero. Returns the end of the field.
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

/// Number of bytes after the first byte of a varint, by the number of significant bits (at most
/// 28).
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
static MORE: [u8; 32] = {
    let mut table = [0; 32];
    let mut bits = 8;
    while bits <= 28 {
        table[bits] = (bits as u8 - 1) / 7;
        bits += 1;
    }
    table
};

/// Continuation bits of a varint, by the number of significant bits (at most 28).
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
static FLAGS: [u32; 32] = {
    let mut table = [0; 32];
    let mut bits = 0;
    while bits < 32 {
        table[bits] = 0x8080_8080 & ((1u32 << (8 * MORE[bits])) - 1);
        bits += 1;
    }
    table
};

/// Appends a time field and returns the end of the field. Has a fast path for varints of five
/// bytes, which nearly all times need.
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

/// Spreads 28 bits into four bytes of seven bits each: first into two halves, then into quarters.
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

/// Appends four prices as strings with exactly `DECIMALS` decimals. Returns the end of the last
/// field.
#[inline(always)]
pub(crate) fn prices<const DECIMALS: u32>(
    sheet: &mut Sheet,
    mut at: usize,
    tags: [u8; 4],
    prices: [i64; 4],
) -> usize {
    // Fast path: nearly all prices are small and have at most DECIMALS decimals, so that their text
    // fits into one word. `multiple` returns a huge value for any other price, so one test of the
    // OR covers all four.
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

/// Appends a price, rounded if necessary. A negative price fails the comparison, because it is huge
/// as an unsigned number.
#[inline(never)]
fn rounded_price<const DECIMALS: u32>(sheet: &mut Sheet, at: usize, tag: u8, millionths: i64) -> usize {
    if DECIMALS <= 3 && (millionths as u64) < (FOUR_DIGITS - 1) * 1_000_000 {
        let step = const { 10u64.pow(MILLIONTHS - DECIMALS) };
        return short_price::<DECIMALS>(sheet, at, tag, ((millionths as u64 + step / 2) / step) as u32);
    }
    decimal::<DECIMALS>(sheet, at, tag, millionths.into())
}

/// Returns a bit count such that every number with that many bits, interpreted with `decimals`
/// decimals, is less than ten thousand.
const fn short_bits(decimals: u32) -> u32 {
    match FOUR_DIGITS.checked_mul(10u64.pow(decimals)) {
        Some(limit) => limit.ilog2(),
        None => 0,
    }
}

/// Returns `value / 10^power` if the division is exact, and otherwise a value greater than
/// `u64::MAX / 10^power`. Dividing by five is a multiplication by its inverse modulo 2^64; dividing
/// by two is a rotation, which moves nonzero remainder bits to the top.
#[inline(always)]
fn multiple(value: u64, power: u32) -> u64 {
    // The inverse of 5 modulo 2^64.
    const FIFTH: u64 = 0xcccc_cccc_cccc_cccd;
    value.wrapping_mul(FIFTH.wrapping_pow(power)).rotate_right(power)
}

/// Appends a price whose text fits into eight bytes. `steps` is the price in units of the last
/// decimal.
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
    // Fast path: nearly every turnover has at most three decimals.
    let (high, low) = ((millionths >> 64) as i64, millionths as u64);
    let mut thousandths = multiple(low, 3);
    if high != 0 || thousandths >= TWELVE_DIGITS * 1000 {
        if high != 0 || low > (TWELVE_DIGITS - 1) * 1_000_000 {
            return decimal::<TURNOVER_DECIMALS>(sheet, at, tag, millionths);
        }
        thousandths = (low + 500) / 1000;
    }
    // The four digits before the point are written separately from the digits in front of them, of
    // which there are up to eight. The digit count varies from candle to candle, and branching on
    // the count costs more than always writing eight digits.
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

/// Appends a decimal of any size, rounded half away from zero. A value that rounds to zero has no
/// sign. Not optimized, because few values need this function.
#[inline(never)]
fn decimal<const DECIMALS: u32>(sheet: &mut Sheet, at: usize, tag: u8, millionths: i128) -> usize {
    let (negative, size) = (millionths < 0, millionths.unsigned_abs());
    let step = 10u128.pow(MILLIONTHS - DECIMALS);
    let rounded = size / step + u128::from(step > 1 && size % step >= step / 2);
    // Digits are produced from the last to the first.
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

/// Writes the tag, the length and the first eight characters of a string field.
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

/// Writes a field's tag and length as one byte each.
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

/// Size of the lookup tables: a power of two, so that masking an index proves to the compiler that
/// it is in bounds.
const PLACES: usize = 16_384;
const _: () = assert!(PLACES.is_power_of_two() && PLACES as u64 >= FOUR_DIGITS);

/// The digits of every number below 10,000, padded to four, with the first digit in the lowest
/// byte.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
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

/// The digits of every number below 10,000 without leading zeros, with the first digit in the
/// lowest byte.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
static TRIMMED: [u32; PLACES] = {
    let mut table = [0; PLACES];
    let mut value = 0;
    while value < FOUR_DIGITS as usize {
        table[value] = FOUR[value] >> (32 - 8 * digits_of(value));
        value += 1;
    }
    table
};

/// The digit count of every number below 10,000.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
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

/// Formats a number below 100,000,000 as eight digits.
#[inline(always)]
fn eight_digits(value: u32) -> u64 {
    let high = value / FOUR_DIGITS as u32;
    padded(high) | padded(value - high * FOUR_DIGITS as u32) << 32
}

/// Formats a number below 10,000 as four digits.
#[inline(always)]
fn padded(value: u32) -> u64 {
    FOUR.get(value as usize & (PLACES - 1)).copied().unwrap_or_default().into()
}

/// Formats a number below 10,000 without leading zeros. Returns the text and its length.
#[inline(always)]
fn trimmed(value: u32) -> (u64, usize) {
    let place = value as usize & (PLACES - 1);
    let text = TRIMMED.get(place).copied().unwrap_or_default();
    (text.into(), DIGITS.get(place).copied().unwrap_or_default().into())
}

/// Formats a fraction as a point and `DECIMALS` digits (at most three). Returns 0 if there are no
/// decimals.
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
            #[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
            let digits = FOUR[value];
            #[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
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
    fn the_digit_tables_match_formatted_numbers() {
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
    fn inexact_quotients_exceed_all_exact_quotients() {
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
