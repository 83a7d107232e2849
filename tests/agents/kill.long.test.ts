import { join } from "node:path"
import { agentKillTest } from "./kill-suite.ts"

agentKillTest({ stride: 1, addressOf: (folder, name) => join(folder, `${name}.db`) })
