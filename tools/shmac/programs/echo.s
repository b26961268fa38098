# Assembly language: writes OK and the end of a line on the console, and ends with status 0.

        li   $t0, 0xfffffe08    # CONSOLE
        la   $t1, text
next:   lw   $t2, 0($t1)
        beq  $t2, $0, done
        addiu $t1, $t1, 4
        b    next
        sw   $t2, 0($t0)
done:   sw   $0, -4($t0)        # EXIT
stop:   b    stop
        nop
text:   .word 79, 75, 10, 0
