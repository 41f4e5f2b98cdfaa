#define ONE $1
	.text
	.globl	started
started:
	movl	ONE, %eax
	retq
