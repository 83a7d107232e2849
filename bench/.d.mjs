import { loadDefinition } from "superstep/definitions"
import { toolSteps } from "./src/definitions/texts.mjs"
import { parse } from "yaml"
import { stubModel } from "./src/agents/stub-model.mjs"
const model=stubModel(0)
const cpu=()=>{const {user,system}=process.cpuUsage();return (user+system)/1000}
for (const n of [100,1000,3000,10000]) { const text=toolSteps(n); let t=cpu(); parse(text); const y=cpu()-t; t=cpu(); const {definition,diagnostics}=loadDefinition({file:"s.yaml",text},{model:()=>model}); const l=cpu()-t; if(!definition) throw new Error(diagnostics[0].message); t=cpu(); const r=await definition.workflow.run("go",{limits:{supersteps:3*n+100}}); console.log(n,"yaml",y.toFixed(0),"load",l.toFixed(0),"run",(cpu()-t).toFixed(0),r.status) }
