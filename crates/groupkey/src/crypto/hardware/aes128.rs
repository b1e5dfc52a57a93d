//! AES-128 by the chip that was installed, or by software.

use core::cell::OnceCell;
use core::fmt;

use aes::cipher::consts::{U1, U16};
use aes::cipher::inout::InOut;
use aes::cipher::{
    Array, Block, BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherDecrypt,
    BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, KeyInit,
    KeySizeUser, ParBlocksSizeUser,
};
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::installed::installed;

/// AES-128 with a key.
pub(crate) struct Aes128 {
    key: [u8; 16],
    /// The expanded key, once software needs it.
    software: OnceCell<aes::Aes128>,
}

impl Aes128 {
    fn software(&self) -> &aes::Aes128 {
        self.software.get_or_init(|| aes::Aes128::new(&self.key.into()))
    }
}

impl KeySizeUser for Aes128 {
    type KeySize = U16;
}

impl KeyInit for Aes128 {
    fn new(key: &Array<u8, U16>) -> Self {
        Self { key: (*key).into(), software: OnceCell::new() }
    }
}

impl BlockSizeUser for Aes128 {
    type BlockSize = U16;
}

impl ParBlocksSizeUser for Aes128 {
    type ParBlocksSize = U1;
}

impl BlockCipherEncrypt for Aes128 {
    fn encrypt_with_backend(&self, f: impl BlockCipherEncClosure<BlockSize = U16>) {
        f.call(self);
    }
}

impl BlockCipherDecrypt for Aes128 {
    fn decrypt_with_backend(&self, f: impl BlockCipherDecClosure<BlockSize = U16>) {
        f.call(self);
    }
}

impl BlockCipherEncBackend for Aes128 {
    fn encrypt_block(&self, mut block: InOut<'_, '_, Block<Self>>) {
        let mut bytes = (*block.get_in()).into();
        match installed().is_some_and(|chip| chip.encrypt(&self.key, &mut bytes)) {
            true => *block.get_out() = bytes.into(),
            false => self.software().encrypt_block_inout(block),
        }
        bytes.zeroize();
    }
}

impl BlockCipherDecBackend for Aes128 {
    fn decrypt_block(&self, mut block: InOut<'_, '_, Block<Self>>) {
        let mut bytes = (*block.get_in()).into();
        match installed().is_some_and(|chip| chip.decrypt(&self.key, &mut bytes)) {
            true => *block.get_out() = bytes.into(),
            false => self.software().decrypt_block_inout(block),
        }
        bytes.zeroize();
    }
}

impl fmt::Debug for Aes128 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Aes128(..)")
    }
}

impl Drop for Aes128 {
    fn drop(&mut self) {
        // The expanded key wipes itself.
        self.key.zeroize();
    }
}

impl ZeroizeOnDrop for Aes128 {}
