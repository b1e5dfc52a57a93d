//! SHA-256 by the chip that was installed, or by software.

use core::fmt;

use sha2::digest::array::Array;
use sha2::digest::block_api::{
    AlgorithmName, Block, BlockSizeUser, Buffer, BufferKindUser, Eager, FixedOutputCore,
    OutputSizeUser, UpdateCore,
};
use sha2::digest::consts::{U32, U64};
use sha2::digest::{HashMarker, Output, Reset, buffer_fixed};
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::INITIAL;
use super::installed::installed;

buffer_fixed!(
    /// SHA-256.
    pub(crate) struct Sha256(Core);
    impl: BaseFixedTraits AlgorithmName Default Clone HashMarker Reset FixedOutputReset;
);

/// SHA-256 of whole blocks.
#[derive(Clone)]
pub(crate) struct Core {
    state: [u32; 8],
    blocks: u64,
}

pub(crate) fn compress256(state: &mut [u32; 8], blocks: &[[u8; 64]]) {
    if !installed().is_some_and(|chip| chip.compress(state, blocks)) {
        sha2::block_api::compress256(state, blocks);
    }
}

impl HashMarker for Core {}

impl BlockSizeUser for Core {
    type BlockSize = U64;
}

impl BufferKindUser for Core {
    type BufferKind = Eager;
}

impl OutputSizeUser for Core {
    type OutputSize = U32;
}

impl UpdateCore for Core {
    fn update_blocks(&mut self, blocks: &[Block<Self>]) {
        self.blocks += blocks.len() as u64;
        compress256(&mut self.state, Array::cast_slice_to_core(blocks));
    }
}

impl FixedOutputCore for Core {
    fn finalize_fixed_core(&mut self, buffer: &mut Buffer<Self>, out: &mut Output<Self>) {
        let bits = 8 * (64 * self.blocks + buffer.get_pos() as u64);
        buffer.len64_padding_be(bits, |block| compress256(&mut self.state, &[block.0]));
        for (bytes, word) in out.chunks_exact_mut(4).zip(&self.state) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
    }
}

impl Default for Core {
    fn default() -> Self {
        Self { state: INITIAL, blocks: 0 }
    }
}

impl Reset for Core {
    fn reset(&mut self) {
        *self = Self::default();
    }
}

impl AlgorithmName for Core {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sha256")
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.state.zeroize();
        self.blocks.zeroize();
    }
}

impl ZeroizeOnDrop for Core {}

/// Core and buffer wipe themselves.
impl ZeroizeOnDrop for Sha256 {}
