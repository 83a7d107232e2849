/** Our server as a program. */
import { serveMcp } from "./serve-mcp.ts"
import { approval, greeter } from "./workflows.test-support.ts"

await serveMcp({ workflows: [greeter, approval] }, { transport: "stdio" }).closed
