import "superstep"
