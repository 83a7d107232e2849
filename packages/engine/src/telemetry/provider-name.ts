/** What OpenTelemetry calls a provider, from what its model object says: `azure.chat` is `azure.ai.openai`. */

/** Beginnings of what AI SDK providers say; the longest that fits counts. */
const KNOWN: Readonly<Record<string, string>> = {
  openai: "openai",
  anthropic: "anthropic",
  azure: "azure.ai.openai",
  "azure-openai": "azure.ai.openai",
  "amazon-bedrock": "aws.bedrock",
  bedrock: "aws.bedrock",
  google: "gcp.gen_ai",
  "google.generative-ai": "gcp.gemini",
  "google.vertex": "gcp.vertex_ai",
  vertex: "gcp.vertex_ai",
  cohere: "cohere",
  deepseek: "deepseek",
  groq: "groq",
  mistral: "mistral_ai",
  moonshotai: "moonshot_ai",
  perplexity: "perplexity",
  xai: "x_ai",
}

/** Others are called what they call themselves, without the interface that is behind the dot. */
export function providerName(provider: string): string {
  const [first = "", second] = provider.split(".")
  return KNOWN[`${first}.${second}`] ?? KNOWN[first] ?? (first === "" ? provider : first)
}
