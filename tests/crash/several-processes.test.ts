import { join } from "node:path"
import { severalProcessesTests } from "./several-suite.ts"

severalProcessesTests((folder, name) => join(folder, `${name}.db`))
