//! Candles written into a fixed piece of stack. Digits are made eight at a time in one word, and a string is written
//! with one or two wide stores of which only a part is meant; what follows writes over the rest.

/// Four prices of at most 21 characters, a turnover of at most 38, three varints of at most 10 bytes, and their tags and
/// lengths come to 166 bytes; the rest is room for writes that are wider than what they mean.
const CANDLE_MAX: usize = 224;
/// Several candles are handed over at a time.
const SIZE: usize = 2048;
const _: () = assert!(SIZE >= 2 * CANDLE_MAX);

#[derive(Debug)]
pub(crate) struct Pen {
    bytes: [u8; SIZE],
    at: usize,
}

impl Default for Pen {
    fn default() -> Pen {
        Pen { bytes: [0; SIZE], at: 0 }
    }
}

/// Turnover has this many decimals in every market.
const TURNOVER_DECIMALS: u32 = 3;
const MILLIONTHS: u32 = 6;
const EIGHT_DIGITS: u64 = 100_000_000;
const ZEROS: u64 = 0x3030_3030_3030_3030;

impl Pen {
    /// Begins a message's field; fields written up to [`Pen::end_message`] are its own.
    #[inline]
    pub(crate) fn begin_message(&mut self, tag: u8) -> usize {
        self.byte(tag);
        self.at += 1;
        self.at - 1
    }

    /// Ends a message. Few are as long as 128 bytes; those are moved to make room for a second byte of length.
    #[inline]
    pub(crate) fn end_message(&mut self, start: usize) {
        let length = self.at - start - 1;
        if length >= 128 {
            return self.end_long_message(start, length);
        }
        if let Some(place) = self.bytes.get_mut(start) {
            *place = length as u8;
        }
    }

    #[cold]
    fn end_long_message(&mut self, start: usize, length: usize) {
        let (from, to) = (start + 1, self.at);
        if to < SIZE {
            self.bytes.copy_within(from..to, from + 1);
        }
        self.at = start;
        self.byte(length as u8 | 128);
        self.byte((length >> 7) as u8);
        self.at = to + 1;
    }

    /// Hands over what was written if there may be no room for another candle.
    #[inline]
    pub(crate) fn flush_if_full(&mut self, out: &mut Vec<u8>) {
        if self.at > SIZE - CANDLE_MAX {
            self.flush(out);
        }
    }

    pub(crate) fn flush(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes.get(..self.at).unwrap_or_default());
        self.at = 0;
    }

    /// A number's field, left out if zero.
    #[inline]
    pub(crate) fn number(&mut self, tag: u8, value: i64) {
        if value == 0 {
            return;
        }
        // Tag and varint together are at most eleven bytes.
        let mut rest = value as u64;
        let mut word = u128::from(tag);
        let mut length = 1;
        while rest >= 128 {
            word |= u128::from(rest as u8 | 128) << (8 * length);
            rest >>= 7;
            length += 1;
        }
        word |= u128::from(rest as u8) << (8 * length);
        self.wide(self.at, word);
        self.at += length + 1;
    }

    /// A price's field: a string with exactly so many decimals.
    #[inline]
    pub(crate) fn price<const DECIMALS: u32>(&mut self, tag: u8, millionths: i64) {
        self.decimal::<DECIMALS>(tag, millionths < 0, millionths.unsigned_abs().into());
    }

    #[inline]
    pub(crate) fn turnover(&mut self, tag: u8, millionths: i128) {
        self.decimal::<TURNOVER_DECIMALS>(tag, millionths < 0, millionths.unsigned_abs());
    }

    /// A decimal's field, rounded half away from zero; what rounds to zero has no sign.
    #[inline]
    fn decimal<const DECIMALS: u32>(&mut self, tag: u8, negative: bool, size: u128) {
        let step = const { 10u64.pow(MILLIONTHS - DECIMALS) };
        let unit = const { 10u64.pow(DECIMALS) };
        match u64::try_from(size) {
            // Sixteen digits before the point; anything longer, and anything negative, takes the long way.
            Ok(size) if !negative && size < u64::MAX / 2 => {
                let rounded = (size + step / 2) / step;
                let (whole, decimals) = (rounded / unit, rounded % unit);
                let (text, length) = trimmed(whole);
                self.field::<DECIMALS>(tag, text, length, decimals);
            }
            _ => self.long_decimal::<DECIMALS>(tag, negative, size),
        }
    }

    #[inline]
    fn field<const DECIMALS: u32>(&mut self, tag: u8, whole: u128, length: usize, decimals: u64) {
        let at = self.at;
        let tail = if DECIMALS == 0 { 0 } else { 1 + DECIMALS as usize };
        self.short(at, u64::from(tag) | ((length + tail) as u64) << 8);
        self.wide(at + 2, whole);
        if DECIMALS > 0 {
            let digits = ascii(decimals) >> (8 * (8 - DECIMALS));
            self.short(at + 2 + length, u64::from(b'.') | digits << 8);
        }
        self.at = at + 2 + length + tail;
    }

    /// Wider than any market's numbers, so no hurry.
    #[cold]
    fn long_decimal<const DECIMALS: u32>(&mut self, tag: u8, negative: bool, size: u128) {
        let step = 10u128.pow(MILLIONTHS - DECIMALS);
        let unit = 10u128.pow(DECIMALS);
        let rounded = size / step + u128::from(step > 1 && size % step >= step / 2);
        let sign = if negative && rounded != 0 { "-" } else { "" };
        let whole = rounded / unit;
        let text = match DECIMALS {
            0 => format!("{sign}{whole}"),
            _ => format!("{sign}{whole}.{:0width$}", rounded % unit, width = DECIMALS as usize),
        };
        self.byte(tag);
        self.byte(text.len() as u8);
        text.bytes().for_each(|byte| self.byte(byte));
    }

    #[inline]
    fn wide(&mut self, at: usize, word: u128) {
        if let Some(place) = self.bytes.get_mut(at..at + 16) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }

    #[inline]
    fn short(&mut self, at: usize, word: u64) {
        if let Some(place) = self.bytes.get_mut(at..at + 8) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.at) {
            *place = byte;
        }
        self.at += 1;
    }
}

/// An integer below 10^16 as text without leading zeros, first digit in the lowest byte, and its length.
#[inline]
fn trimmed(value: u64) -> (u128, usize) {
    if value < EIGHT_DIGITS {
        let (text, length) = trimmed_eight(value);
        return (u128::from(text), length);
    }
    let (text, length) = trimmed_eight(value / EIGHT_DIGITS);
    (u128::from(text) | u128::from(ascii(value % EIGHT_DIGITS)) << (8 * length), length + 8)
}

#[inline]
fn trimmed_eight(value: u64) -> (u64, usize) {
    let digits = digits(value);
    // The first digit is the lowest byte, so leading zeros are low zero bytes; a lone zero keeps one.
    let skipped = (digits.trailing_zeros() / 8).min(7);
    ((digits | ZEROS) >> (8 * skipped), 8 - skipped as usize)
}

#[inline]
fn ascii(value: u64) -> u64 {
    digits(value) | ZEROS
}

/// The eight digits of a number below 10^8, one a byte, the first in the lowest. Halves, then quarters, then digits are
/// split side by side in one word; the factors are reciprocals of 100 and 10, exact for what they are given.
#[inline]
fn digits(value: u64) -> u64 {
    let fours = value / 10_000 | (value % 10_000) << 32;
    let hundreds = (fours * 5243 >> 19) & 0x0000_007f_0000_007f;
    let twos = hundreds | (fours - hundreds * 100) << 16;
    let tens = (twos * 103 >> 10) & 0x000f_000f_000f_000f;
    tens | (twos - tens * 10) << 8
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
