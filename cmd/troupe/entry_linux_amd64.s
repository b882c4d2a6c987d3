#include "go_asm.h"
#include "textflag.h"

// The entry point of the binaries of `make build`, which name it to the linker
// (-E). Go's runtime needs more address space than a low `ulimit -v` leaves, and
// would end with a trace of its own before main: this says what is wrong and
// goes on to the runtime otherwise. docs/decisions/0020-entry-point.md.
TEXT _troupe_entry(SB),NOSPLIT|NOFRAME,$0
	SUBQ	$32, SP
	MOVL	$97, AX // getrlimit
	MOVL	$9, DI  // RLIMIT_AS
	MOVQ	SP, SI
	SYSCALL
	TESTQ	AX, AX
	JNZ	start
	MOVQ	0(SP), AX // the limit that holds, in bytes
	MOVQ	$const_leastAddressSpace, BX
	CMPQ	AX, BX
	JCS	low

start:
	ADDQ	$32, SP
	JMP	_rt0_amd64_linux(SB)

low:
	// KiB in decimal digits, from the last one on.
	SHRQ	$10, AX
	LEAQ	31(SP), R12
	MOVB	$'\n', (R12)
	MOVL	$10, BX

digit:
	XORL	DX, DX
	DIVQ	BX
	ADDL	$'0', DX
	DECQ	R12
	MOVB	DX, (R12)
	TESTQ	AX, AX
	JNZ	digit
	MOVL	$1, AX // write
	MOVL	$2, DI
	MOVQ	·addressSpaceText(SB), SI
	MOVQ	·addressSpaceText+8(SB), DX
	SYSCALL
	MOVL	$1, AX
	MOVL	$2, DI
	MOVQ	R12, SI
	LEAQ	32(SP), DX
	SUBQ	R12, DX
	SYSCALL
	MOVL	$231, AX // exit_group
	MOVL	$1, DI
	SYSCALL
	INT	$3
