/* wasi-libc of 2022 has no setjmp.h. The programs that include it do not call setjmp. */
