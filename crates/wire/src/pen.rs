//! Candles written into a fixed piece of stack. Digits are made eight at a time in one word, and a string is written
//! with one or two wide stores of which only a part is meant; what follows writes over the rest.

/// Four prices of at most 21 characters, a turnover of at most 38, three varints of at most 10 bytes, and their tags and
/// lengths come to 166 bytes; the rest is room for writes that are wider than what they mean.
const CANDLE_MAX: usize = 224;
/// Several candles are handed over at a time.
const SIZE: usize = 2048;
const _: () = assert!(SIZE >= 2 * CANDLE_MAX);

/// Where candles are written before they are handed over. A plain array beside a plain index, and functions from index to
/// index: the index then lives in a register, where a struct of both lived in memory and cost a third of the time.
pub(crate) type Sheet = [u8; SIZE + WIDEST];

/// The widest single write.
const WIDEST: usize = 16;
/// No place on a sheet is beyond this, and masking with it shows the compiler so: writes need no check of bounds then.
const MASK: usize = SIZE - 1;
const _: () = assert!(SIZE.is_power_of_two());

/// Room for one more candle.
pub(crate) const FULL: usize = SIZE - CANDLE_MAX;
pub(crate) const fn sheet() -> Sheet {
    [0; SIZE + WIDEST]
}

/// Turnover has this many decimals in every market.
const TURNOVER_DECIMALS: u32 = 3;
const MILLIONTHS: u32 = 6;
const EIGHT_DIGITS: u64 = 100_000_000;
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Ends the message that began with a tag at `start` and has its fields from `start + 2` to `at`. Few are as long as
/// 128 bytes; those are moved to make room for a second byte of length.
#[inline(always)]
pub(crate) fn end_message(sheet: &mut Sheet, start: usize, tag: u8, at: usize) -> usize {
    let length = at - start - 2;
    if length >= 128 {
        return end_long_message(sheet, start, tag, at);
    }
    byte(sheet, start, tag);
    byte(sheet, start + 1, length as u8);
    at
}

#[cold]
fn end_long_message(sheet: &mut Sheet, start: usize, tag: u8, at: usize) -> usize {
    let length = at - start - 2;
    if at < SIZE {
        sheet.copy_within(start + 2..at, start + 3);
    }
    byte(sheet, start, tag);
    byte(sheet, start + 1, length as u8 | 128);
    byte(sheet, start + 2, (length >> 7) as u8);
    at + 1
}

/// A number's field, left out if zero.
#[inline(always)]
pub(crate) fn number(sheet: &mut Sheet, at: usize, tag: u8, value: i64) -> usize {
    if value == 0 {
        return at;
    }
    let value = value as u64;
    byte(sheet, at, tag);
    if value >> 56 != 0 {
        return long_varint(sheet, at + 1, value);
    }
    // Groups of seven bits are moved apart, halves first, until each has a byte; all but the last get the bit that says
    // that there is more.
    let halves = value & 0x0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
    let quarters = halves & 0x0000_3fff_0000_3fff | (halves & 0x0fff_c000_0fff_c000) << 2;
    let groups = quarters & 0x007f_007f_007f_007f | (quarters & 0x3f80_3f80_3f80_3f80) << 1;
    let more = (63 - value.leading_zeros()) / 7;
    let flags = 0x8080_8080_8080_8080 & ((1u64 << (8 * more)) - 1);
    short(sheet, at + 1, groups | flags);
    at + more as usize + 2
}

#[cold]
fn long_varint(sheet: &mut Sheet, mut at: usize, mut value: u64) -> usize {
    while value >= 128 {
        byte(sheet, at, value as u8 | 128);
        value >>= 7;
        at += 1;
    }
    byte(sheet, at, value as u8);
    at + 1
}

/// A price's field: a string with exactly so many decimals.
#[inline(always)]
pub(crate) fn price<const DECIMALS: u32>(sheet: &mut Sheet, at: usize, tag: u8, millionths: i64) -> usize {
    let step = const { 10u64.pow(MILLIONTHS - DECIMALS) };
    // Three decimals and five digits before the point, as nearly every price has: eight digits in one go. Negative
    // prices are huge as unsigned numbers.
    if DECIMALS == 3 && (millionths as u64) < (EIGHT_DIGITS - 1) * 1000 {
        return eight(sheet, at, tag, (millionths as u64 + step / 2) / step);
    }
    decimal::<DECIMALS>(sheet, at, tag, millionths.into())
}

#[inline(always)]
pub(crate) fn turnover(sheet: &mut Sheet, at: usize, tag: u8, millionths: i128) -> usize {
    const LARGEST: u128 = (EIGHT_DIGITS as u128 - 1) * 1_000_000;
    // Eight digits before the point and three behind it are two words.
    if millionths as u128 <= LARGEST {
        let rounded = (millionths as u64 + 500) / 1000;
        let (text, length) = trimmed_eight(rounded / 1000);
        return field::<TURNOVER_DECIMALS>(sheet, at, tag, text.into(), length, rounded % 1000);
    }
    decimal::<TURNOVER_DECIMALS>(sheet, at, tag, millionths)
}

/// A decimal's field, rounded half away from zero; what rounds to zero has no sign.
#[inline(never)]
fn decimal<const DECIMALS: u32>(sheet: &mut Sheet, at: usize, tag: u8, millionths: i128) -> usize {
    let (negative, size) = (millionths < 0, millionths.unsigned_abs());
    let step = const { 10u64.pow(MILLIONTHS - DECIMALS) };
    let unit = const { 10u64.pow(DECIMALS) };
    match u64::try_from(size) {
        // At most thirteen digits before the point; anything longer, and anything negative, takes the long way.
        Ok(size) if !negative && size < u64::MAX / 2 => {
            let rounded = (size + step / 2) / step;
            let (text, length) = trimmed(rounded / unit);
            field::<DECIMALS>(sheet, at, tag, text, length, rounded % unit)
        }
        _ => long_decimal::<DECIMALS>(sheet, at, tag, negative, size),
    }
}

/// Thousandths below 10^8, as the field of a string with three decimals.
#[inline(always)]
fn eight(sheet: &mut Sheet, at: usize, tag: u8, thousandths: u64) -> usize {
    const WHOLE: u64 = 0x00ff_ffff_ffff;
    let digits = digits(thousandths);
    // Leading zeros before the point are left out, but for the last.
    let skipped = (digits.trailing_zeros() / 8).min(4);
    let (ascii, length) = (digits | ZEROS, 5 - u64::from(skipped));
    let head = u64::from(tag) | (length + 4) << 8 | ((ascii & WHOLE) >> (8 * skipped)) << 16;
    let tail = u64::from(b'.') | (ascii >> 40) << 8;
    short(sheet, at, head);
    short(sheet, at + 2 + length as usize, tail);
    at + 6 + length as usize
}

#[inline(always)]
fn field<const DECIMALS: u32>(
    sheet: &mut Sheet,
    at: usize,
    tag: u8,
    whole: u128,
    length: usize,
    decimals: u64,
) -> usize {
    let tail = if DECIMALS == 0 { 0 } else { 1 + DECIMALS as usize };
    byte(sheet, at, tag);
    byte(sheet, at + 1, (length + tail) as u8);
    wide(sheet, at + 2, whole);
    if DECIMALS > 0 {
        let digits = ascii(decimals) >> (8 * (8 - DECIMALS));
        short(sheet, at + 2 + length, u64::from(b'.') | digits << 8);
    }
    at + 2 + length + tail
}

/// Wider than any market's numbers, so no hurry.
#[cold]
fn long_decimal<const DECIMALS: u32>(
    sheet: &mut Sheet,
    at: usize,
    tag: u8,
    negative: bool,
    size: u128,
) -> usize {
    let step = 10u128.pow(MILLIONTHS - DECIMALS);
    let unit = 10u128.pow(DECIMALS);
    let rounded = size / step + u128::from(step > 1 && size % step >= step / 2);
    let sign = if negative && rounded != 0 { "-" } else { "" };
    let whole = rounded / unit;
    let text = match DECIMALS {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{:0width$}", rounded % unit, width = DECIMALS as usize),
    };
    byte(sheet, at, tag);
    byte(sheet, at + 1, text.len() as u8);
    if let Some(place) = sheet.get_mut(at + 2..at + 2 + text.len()) {
        place.copy_from_slice(text.as_bytes());
    }
    at + 2 + text.len()
}

#[inline(always)]
fn wide(sheet: &mut Sheet, at: usize, word: u128) {
    let at = at & MASK;
    if let Some(place) = sheet.get_mut(at..at + 16) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

#[inline(always)]
fn short(sheet: &mut Sheet, at: usize, word: u64) {
    let at = at & MASK;
    if let Some(place) = sheet.get_mut(at..at + 8) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

#[inline(always)]
fn byte(sheet: &mut Sheet, at: usize, byte: u8) {
    if let Some(place) = sheet.get_mut(at & MASK) {
        *place = byte;
    }
}

/// An integer below 10^16 as text without leading zeros, first digit in the lowest byte, and its length.
#[inline(always)]
fn trimmed(value: u64) -> (u128, usize) {
    if value < EIGHT_DIGITS {
        let (text, length) = trimmed_eight(value);
        return (u128::from(text), length);
    }
    let (text, length) = trimmed_eight(value / EIGHT_DIGITS);
    (u128::from(text) | u128::from(ascii(value % EIGHT_DIGITS)) << (8 * length), length + 8)
}

#[inline(always)]
fn trimmed_eight(value: u64) -> (u64, usize) {
    let digits = digits(value);
    // The first digit is the lowest byte, so leading zeros are low zero bytes; a lone zero keeps one.
    let skipped = (digits.trailing_zeros() / 8).min(7);
    ((digits | ZEROS) >> (8 * skipped), 8 - skipped as usize)
}

#[inline(always)]
fn ascii(value: u64) -> u64 {
    digits(value) | ZEROS
}

/// The eight digits of a number below 10^8, one a byte, the first in the lowest. Halves, then quarters, then digits are
/// split side by side in one word; the factors are reciprocals of 100 and 10, exact for what they are given.
#[inline(always)]
fn digits(value: u64) -> u64 {
    let fours = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((fours * 5243) >> 19) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - tens * 10) << 8)
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
    fn eight_digits_are_those_of_the_number() {
        let mut value = 0;
        while value < EIGHT_DIGITS {
            assert_eq!(ascii(value).to_le_bytes(), format!("{value:08}").as_bytes(), "{value}");
            // Prime, so that all residues come up.
            value += 997;
        }
        for value in [0, 9, 10, 99, 100, 9_999, 10_000, 99_999_999] {
            assert_eq!(ascii(value).to_le_bytes(), format!("{value:08}").as_bytes(), "{value}");
        }
    }
}
