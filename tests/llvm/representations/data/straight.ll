; Data and control in one block. Debug records are no nodes.
@g = global i32 0

define i32 @f(i32 %a, i32 %b) !dbg !4 {
  %s = add i32 %a, %b
    #dbg_value(i32 %s, !7, !DIExpression(), !8)
  %t = mul i32 %s, 3
  store volatile i32 %t, ptr @g
  ret i32 %t
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "straight.c", directory: "/")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{null}
!7 = !DILocalVariable(name: "s", scope: !4, file: !1, line: 1, type: !9)
!8 = !DILocation(line: 1, scope: !4)
!9 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
