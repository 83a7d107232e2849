// The command from its sources, in the folder where npm was called: `npm run -s superstep -- run story.yaml`.
import { chdir, env } from "node:process"

if (env.INIT_CWD) chdir(env.INIT_CWD)
await import("../packages/superstep/src/command/main.ts")
