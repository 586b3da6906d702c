// What this system's headers ask of glibc and 2.28 does not have.

extern "C" {
// Zero: there may be other threads, so reference counts are always atomic.
extern const char __libc_single_threaded;
const char __libc_single_threaded = 0;
}
