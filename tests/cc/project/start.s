	.text
	.globl	started
started:
	movl	$1, %eax
	retq
