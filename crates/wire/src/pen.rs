//! Candles written into a fixed piece of stack. Digits come from tables, four at a time, and a string is written with one
//! or two wide stores of which only a part is meant; what follows writes over the rest.

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
const FOUR_DIGITS: u64 = 10_000;
const TWELVE_DIGITS: u64 = 1_000_000_000_000;
const ZEROS: u128 = 0x3030_3030_3030_3030_3030_3030;

/// Ends the message that began with a tag at `start` and has its fields from `start + 2` to `at`. Few are as long as
/// 128 bytes; those are moved to make room for a second byte of length.
#[inline(always)]
pub(crate) fn end_message(sheet: &mut Sheet, start: usize, tag: u8, at: usize) -> usize {
    let length = at - start - 2;
    if length >= 128 {
        return end_long_message(sheet, start, tag, at);
    }
    pair(sheet, start, tag, length as u64);
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
    if value >> 28 != 0 {
        byte(sheet, at, tag);
        return long_varint(sheet, at + 1, value);
    }
    let more = (63 - value.leading_zeros()) / 7;
    let flags = 0x8080_8080 & ((1u64 << (8 * more)) - 1);
    word(sheet, at, u64::from(tag) | (sevens(value) | flags) << 8);
    at + more as usize + 2
}

/// A time's field: nearly every time takes five bytes.
#[inline(always)]
pub(crate) fn time(sheet: &mut Sheet, at: usize, tag: u8, seconds: i64) -> usize {
    let value = seconds as u64;
    if value >> 28 == 0 || value >> 35 != 0 {
        return number(sheet, at, tag, seconds);
    }
    let low = sevens(value & 0x0fff_ffff) | 0x8080_8080;
    word(sheet, at, u64::from(tag) | low << 8 | (value >> 28) << 40);
    at + 6
}

/// 28 bits in four groups of seven, a byte each: moved apart, halves first.
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

/// A price's field: a string with exactly so many decimals.
#[inline(always)]
pub(crate) fn price<const DECIMALS: u32>(sheet: &mut Sheet, at: usize, tag: u8, millionths: i64) -> usize {
    // Nearly every price is below ten thousand with at most three decimals: a word of text. Negative ones are huge as
    // unsigned numbers.
    if DECIMALS <= 3 && (millionths as u64) < (FOUR_DIGITS - 1) * 1_000_000 {
        let step = const { 10u64.pow(MILLIONTHS - DECIMALS) };
        let rounded = (millionths as u64 + step / 2) / step;
        let unit = const { 10u64.pow(DECIMALS) };
        let (text, bits) = trimmed(rounded / unit);
        let tail = if DECIMALS == 0 { 0 } else { 1 + DECIMALS as usize };
        let length = bits as usize / 8 + tail;
        pair(sheet, at, tag, length as u64);
        word(sheet, at + 2, text | fraction::<DECIMALS>(rounded % unit) << bits);
        return at + 2 + length;
    }
    decimal::<DECIMALS>(sheet, at, tag, millionths.into())
}

#[inline(always)]
pub(crate) fn turnover(sheet: &mut Sheet, at: usize, tag: u8, millionths: i128) -> usize {
    const LARGEST: u128 = (TWELVE_DIGITS as u128 - 1) * 1_000_000;
    // Twelve digits before the point, whatever there are of them: their number changes from candle to candle, and
    // branching on it costs more than writing all.
    if millionths as u128 <= LARGEST {
        let rounded = (millionths as u64 + 500) / 1000;
        let whole = rounded / 1000;
        let (high, low) = (whole / FOUR_DIGITS, whole % FOUR_DIGITS);
        let text = padded(high / FOUR_DIGITS) | padded(high % FOUR_DIGITS) << 32;
        let text = u128::from(text) | u128::from(padded(low)) << 64;
        let skipped = ((text ^ ZEROS) | 1 << 88).trailing_zeros() & !7;
        let length = 12 - skipped as usize / 8;
        pair(sheet, at, tag, (length + 4) as u64);
        wide(sheet, at + 2, text >> skipped);
        word(sheet, at + 2 + length, fraction::<TURNOVER_DECIMALS>(rounded % 1000));
        return at + 6 + length;
    }
    decimal::<TURNOVER_DECIMALS>(sheet, at, tag, millionths)
}

/// A decimal's field of any size, rounded half away from zero; what rounds to zero has no sign. Rare enough to be written
/// in the ordinary way.
#[inline(never)]
fn decimal<const DECIMALS: u32>(sheet: &mut Sheet, at: usize, tag: u8, millionths: i128) -> usize {
    let (negative, size) = (millionths < 0, millionths.unsigned_abs());
    let step = 10u128.pow(MILLIONTHS - DECIMALS);
    let rounded = size / step + u128::from(step > 1 && size % step >= step / 2);
    // The text is made from its end.
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

#[inline(always)]
fn wide(sheet: &mut Sheet, at: usize, word: u128) {
    let at = at & MASK;
    if let Some(place) = sheet.get_mut(at..at + 16) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

#[inline(always)]
fn word(sheet: &mut Sheet, at: usize, word: u64) {
    let at = at & MASK;
    if let Some(place) = sheet.get_mut(at..at + 8) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

/// A tag and the length of what follows it.
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

/// Tables have a power of two of places, so that a mask shows the compiler that no look-up is beyond them.
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

/// The same without leading zeros, and in the upper half how many bits of text that is.
#[expect(clippy::indexing_slicing, reason = "reckoned when compiled")]
static TRIMMED: [u64; PLACES] = {
    let mut table = [0; PLACES];
    let mut value = 0;
    while value < FOUR_DIGITS as usize {
        let digits = if value == 0 { 1 } else { value.ilog10() + 1 };
        table[value] = (FOUR[value] >> (32 - 8 * digits)) as u64 | (8 * digits as u64) << 32;
        value += 1;
    }
    table
};

/// A number below ten thousand as four digits.
#[inline(always)]
fn padded(value: u64) -> u64 {
    FOUR.get(value as usize & (PLACES - 1)).copied().unwrap_or_default().into()
}

/// A number below ten thousand without leading zeros, and how many bits of text that is.
#[inline(always)]
fn trimmed(value: u64) -> (u64, u32) {
    let entry = TRIMMED.get(value as usize & (PLACES - 1)).copied().unwrap_or_default();
    (entry & 0xffff_ffff, (entry >> 32) as u32)
}

/// A point and the decimals behind it.
#[inline(always)]
fn fraction<const DECIMALS: u32>(value: u64) -> u64 {
    const POINT: u64 = b'.' as u64;
    padded(value) >> (8 * (4 - DECIMALS)) << 8 | POINT
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
        for value in 0..FOUR_DIGITS {
            assert_eq!(padded(value).to_le_bytes()[..4], *format!("{value:04}").as_bytes());
            let (text, bits) = trimmed(value);
            let plain = value.to_string();
            assert_eq!(
                (bits as usize, &text.to_le_bytes()[..plain.len()]),
                (8 * plain.len(), plain.as_bytes())
            );
        }
    }
}
