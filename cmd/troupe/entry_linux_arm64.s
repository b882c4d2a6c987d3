#include "go_asm.h"
#include "textflag.h"

// The entry point of the binaries of `make build`; see entry_linux_amd64.s.
TEXT _troupe_entry(SB),NOSPLIT|NOFRAME,$0
	SUB	$32, RSP
	MOVD	$163, R8 // getrlimit
	MOVD	$9, R0   // RLIMIT_AS
	MOVD	RSP, R1
	SVC
	CBNZ	R0, start
	MOVD	0(RSP), R1 // the limit that holds, in bytes
	MOVD	$const_leastAddressSpace, R2
	CMP	R2, R1
	BLO	low

start:
	ADD	$32, RSP
	B	_rt0_arm64_linux(SB)

low:
	// KiB in decimal digits, from the last one on.
	LSR	$10, R1
	ADD	$31, RSP, R3
	MOVD	$'\n', R4
	MOVB	R4, (R3)
	MOVD	$10, R5

digit:
	UDIV	R5, R1, R6
	MSUB	R5, R1, R6, R4 // R1 - R6 * 10
	ADD	$'0', R4
	SUB	$1, R3
	MOVB	R4, (R3)
	MOVD	R6, R1
	CBNZ	R1, digit
	MOVD	$64, R8 // write
	MOVD	$2, R0
	MOVD	·addressSpaceText(SB), R1
	MOVD	·addressSpaceText+8(SB), R2
	SVC
	MOVD	$64, R8
	MOVD	$2, R0
	MOVD	R3, R1
	ADD	$32, RSP, R2
	SUB	R3, R2
	SVC
	MOVD	$94, R8 // exit_group
	MOVD	$1, R0
	SVC
	BRK
