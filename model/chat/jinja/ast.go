package jinja

// expr is an expression node. Evaluate children by rt.eval, which counts steps and depth.
type expr interface {
	eval(rt *runtime, sc *scope) any
}

// stmt is a statement and its 1-based line.
type stmt struct {
	line int
	node
}

// node executes a statement. It executes bodies through rt.exec.
type node interface {
	exec(rt *runtime, sc *scope, out *output) signal
}

// signal tells a loop to go on with the body, to end or to take the next item.
type signal uint8

const (
	next signal = iota
	brk
	cont
)

// Expressions.
type (
	constExpr struct{ v any }
	nameExpr  struct{ name string }
	listExpr  struct {
		items []expr
		tuple bool
	}
	dictExpr struct{ keys, vals []expr }
	condExpr struct{ test, then, els expr }
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
	sliceExpr struct{ lo, hi, step expr } // only as an itemExpr's key
	callExpr  struct {
		f    expr
		args callArgs
	}
	// builtinExpr is "x | name(args)" or "x is name(args)".
	builtinExpr struct {
		x          expr
		kind, name string // kind is "filter" or "test"
		args       callArgs
	}
)

// callArgs are the arguments as written.
type callArgs struct {
	pos  []expr
	kw   []kwExpr // name=v
	star expr     // *star
}

type kwExpr struct {
	name string
	v    expr
}

// target is the left side of set and for: exactly one form is used.
type target struct {
	name  string
	attr  string   // with name: a namespace field
	parts []target // unpacking
}

// Statements.
type (
	textStmt struct{ text string }
	outStmt  struct{ x expr }
	ifStmt   struct {
		tests  []expr // else is a test that is true
		bodies [][]stmt
	}
	forStmt struct {
		target     target
		iter, test expr // test may be nil
		body, els  []stmt
		// captures: the body makes macros, which keep the scope of their turn.
		captures bool
	}
	setStmt struct {
		target target
		x      expr
	}
	// captureStmt is a block of set or filter: it captures the text of its body.
	captureStmt struct {
		body   []stmt
		filter expr    // filters around bodyText, or nil
		target *target // nil: print
	}
	scopeStmt  struct{ body []stmt } // a generation block
	signalStmt struct{ sig signal }
)

// bodyText reads the variable with the text of a captureStmt's body.
var bodyText = &nameExpr{"body of the block"}

// macroExpr makes a Macro of a definition and the current scope.
type macroExpr struct{ *macroDef }

// macroDef is a macro or the body of a call block.
type macroDef struct {
	name     string
	params   []string
	defaults []expr // for the last len(defaults) parameters
	body     []stmt
	// caller: the body mentions caller, so a call block may call the macro.
	caller bool
}
