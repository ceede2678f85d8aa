/// A small seeded generator (splitmix64). Only integers and the exactly defined floating point operations
/// (`+ - * /` and square roots) touch its numbers, so every machine draws the same market.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// A stream of its own for each key: a day's draws depend on its date, not on how many days came before.
    pub(super) fn keyed(name: &str, stream: u64, day: i64) -> Random {
        // FNV-1a.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let mut random = Random(hash ^ stream.wrapping_mul(0xd6e8_feb8_6659_fd93));
        random.0 = random.next() ^ day.cast_unsigned().wrapping_mul(0xa076_1d64_78bd_642f);
        random.next();
        random
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Evenly from `[0, 1)`.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Evenly from `0..below`.
    pub(super) fn below(&mut self, below: usize) -> usize {
        ((u128::from(self.next()) * below as u128) >> 64) as usize
    }

    /// Roughly normal, mean 0 and deviation 1, never beyond 3.5: the four quarters of one draw added up.
    pub(super) fn normal(&mut self) -> f64 {
        let bits = self.next();
        let sum = (bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48);
        (sum as f64 - 131_070.0) / 37_837.0
    }
}
