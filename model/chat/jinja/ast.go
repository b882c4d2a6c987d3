package jinja

// expr is an expression node. Evaluate children through rt.eval, which counts
// steps and depth.
type expr interface {
	eval(rt *runtime, sc *scope) (any, error)
}

// stmt is a statement node. Execute bodies through rt.exec.
type stmt interface {
	exec(rt *runtime, sc *scope, out *output) (signal, error)
	pos() int // 1-based line
}

// signal tells a loop what a statement in its body asked for.
type signal uint8

const (
	next signal = iota
	brk
	cont
)

type line int

func (l line) pos() int { return int(l) }

// Expressions.
type (
	constExpr struct{ v any }
	nameExpr  struct{ name string }
	listExpr  struct{ items []expr }
	tupleExpr struct{ items []expr }
	dictExpr  struct{ keys, vals []expr }
	condExpr  struct {
		test, then, els expr // els nil = undefined
	}
	// logicExpr is "l and r" if and, else "l or r".
	logicExpr struct {
		and  bool
		l, r expr
	}
	notExpr    struct{ x expr }
	binaryExpr struct {
		op   string
		l, r expr
	}
	unaryExpr struct {
		op string
		x  expr
	}
	concatExpr  struct{ items []expr }
	compareExpr struct {
		first expr
		ops   []string
		rest  []expr // same length as ops
	}
	attrExpr struct {
		x    expr
		name string
	}
	itemExpr  struct{ x, key expr }
	sliceExpr struct{ lo, hi, step expr } // nil = left out; only as an itemExpr's key
	callExpr  struct {
		f    expr
		args callArgs
	}
	filterExpr struct {
		x    expr // nil in a filter block: the rendered body
		name string
		args callArgs
	}
	testExpr struct {
		x    expr
		name string
		args callArgs
	}
)

// callArgs are the arguments as written; star is that of *args.
type callArgs struct {
	pos  []expr
	kw   []kwExpr
	star expr
}

type kwExpr struct {
	name string
	v    expr
}

// target is what set and for assign to: exactly one form is used.
type target struct {
	name  string
	attr  string   // with name: a namespace field
	parts []target // unpacking
}

// Statements.
type (
	textStmt struct {
		line
		text string
	}
	outStmt struct {
		line
		x expr
	}
	ifStmt struct {
		line
		tests  []expr
		bodies [][]stmt // one per test, then perhaps one for else
	}
	forStmt struct {
		line
		target     target
		iter, test expr // test may be nil
		body, els  []stmt
		usesLoop   bool
		// captures: the body makes macros, which keep the scope of their turn.
		captures bool
	}
	setStmt struct {
		line
		target target
		x      expr
	}
	setBlockStmt struct {
		line
		target target
		filter expr // nil, or filters around a nil operand
		body   []stmt
	}
	macroStmt struct {
		line
		def *macroDef
	}
	callStmt struct {
		line
		call *callExpr
		def  *macroDef
	}
	filterStmt struct {
		line
		filter expr
		body   []stmt
	}
	scopeStmt struct { // a generation block
		line
		body []stmt
	}
	signalStmt struct {
		line
		sig signal
	}
)

// macroDef is a macro or the body of a call block.
type macroDef struct {
	name     string
	params   []string
	defaults []expr // for the last len(defaults) parameters
	body     []stmt
	// caller: the body mentions caller, so a call block may call the macro.
	caller bool
}
