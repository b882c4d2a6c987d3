package main

import (
	"strings"
	"testing"
)

func TestCheckPTX(t *testing.T) {
	const good = `
.version 8.0
.visible .entry k(
	.param .u64 k_param_0,
	.param .u32 k_param_1
)
.maxntid 128, 1, 1
{
	.reg .f32 	%f<6>;
	add.rn.f32 	%f1, %f2, %f3;
	@%p1 mul.rn.f64 	%fd1, %fd2, %fd3;
	fma.rn.f32 	%f1, %f2, %f3, %f4;
	div.rn.f32 	%f1, %f2, %f3;
	sqrt.rn.f64 	%fd1, %fd2;
	rcp.rn.f64 	%fd1, %fd2;
	cvt.rn.f16.f32 %rs1, %f1;
	cvt.rn.f32.s32 	%f1, %r1;
	cvt.f64.f32 	%fd1, %f1;
	neg.f32 	%f1, %f2;
	setp.gt.f32 	%p1, %f1, %f2;
	ld.shared.v4.f32 	{%f1, %f2, %f3, %f4}, [%rd1];
	mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};
	ret;
}`
	if err := checkPTX(good); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		"mul.f32 	%f1, %f2, %f3;", "add.f32 	%f1, %f2, %f3;", "add.ftz.rn.f32 	%f1, %f2, %f3;", "fma.rz.f32 %f1, %f2, %f3, %f4;",
		"ex2.approx.f32 	%f1, %f2;", "div.full.f32 	%f1, %f2, %f3;", "rcp.approx.ftz.f32 %f1, %f2;", "sin.approx.f32 %f1, %f2;",
		"mad.f32 	%f1, %f2, %f3, %f4;", "sub.f32 	%f1, %f2, %f3;", "@%p1 add.f64 	%fd1, %fd2, %fd3;",
		"atom.global.add.f32 	%f1, [%rd1], %f2;", "red.global.add.f32 	[%rd1], %f2;",
	} {
		err := checkPTX(strings.Replace(good, "ret;", bad, 1))
		if err == nil {
			t.Errorf("%s is accepted", bad)
		} else if !strings.Contains(err.Error(), "in k,") {
			t.Errorf("the error does not name the kernel: %v", err)
		}
	}
	entries := entriesOf(good)
	if len(entries) != 1 || entries[0].Name != "k" || entries[0].Threads != 128 || len(entries[0].Parameters) != 2 || entries[0].Parameters[1] != 4 {
		t.Errorf("entries are %+v", entries)
	}
}

func TestBuildsOf(t *testing.T) {
	const report = `ptxas info    : Compiling entry function 'a' for 'sm_80'
ptxas info    : Function properties for a
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 96 registers, 8224 bytes smem, 424 bytes cmem[0]
`
	builds, err := buildsOf(report)
	if err != nil || builds["a"].Registers != 96 || builds["a"].Shared != 8224 {
		t.Errorf("%+v, %v", builds, err)
	}
	if _, err := buildsOf(strings.Replace(report, "0 bytes spill stores", "8 bytes spill stores", 1)); err == nil || !strings.Contains(err.Error(), "a spills") {
		t.Errorf("a spill is accepted: %v", err)
	}
}
