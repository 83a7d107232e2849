import { ways } from "./src/agents/calls.mjs"
const key=process.argv[2]; const w=ways[key]; 
for(let i=0;i<3000;i++) await w.run()
const n=Number(process.argv[3]??10000); const c=process.cpuUsage(); for(let i=0;i<n;i++) await w.run(); const d=process.cpuUsage(c); console.log(key,((d.user+d.system)/n/w.per).toFixed(1),"µs cpu per call")
