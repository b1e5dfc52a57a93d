//! Start-up code and a heap in use, and nothing else: what a program weighs before groupkey comes in.

#![no_std]
#![no_main]

extern crate alloc;

mod heap;

use alloc::vec::Vec;
use core::hint::black_box;

#[cfg_attr(target_arch = "arm", cortex_m_rt::entry)]
#[cfg_attr(target_arch = "riscv32", riscv_rt::entry)]
fn main() -> ! {
    heap::start();
    loop {
        black_box(Vec::from(black_box(&[0_u8; 64][..])));
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
