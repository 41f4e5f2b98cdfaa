        .text
        .globl  twice
        .type   twice, @function
twice:
        addl    %edi, %edi
        jmp     noted@PLT
        .size   twice, .-twice
        .section .note.GNU-stack,"",@progbits
