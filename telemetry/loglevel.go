package telemetry

import (
	"sync/atomic"

	"github.com/rs/zerolog"
)

// LogLevel is the lowest level that is logged. All loggers that sample by it
// follow when it changes. The zero value is debug. Safe for concurrent use.
type LogLevel struct{ level atomic.Int32 }

func (l *LogLevel) Set(level zerolog.Level) { l.level.Store(int32(level)) }

func (l *LogLevel) Sample(level zerolog.Level) bool { return level >= zerolog.Level(l.level.Load()) }
