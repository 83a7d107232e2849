import "./accessibility.ts"
