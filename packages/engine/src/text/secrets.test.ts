import { expect, test } from "vitest"
import { isSecretName } from "./secrets.ts"

test.each([
  "token",
  "api_key",
  "apiKey",
  "OPENAI_API_KEY",
  "APIKEY",
  "password",
  "DB_PASS",
  "db_pwd",
  "secret",
  "client_secret",
  "credential",
  "credentials",
  "authorization",
  "Proxy-Authorization",
  "cookie",
  "set-cookie",
  "private_key",
  "AWS_ACCESS_KEY_ID",
  "ACME_KEY",
  "x-auth",
  "session token",
  "refreshToken",
])("%s is a secret name", (name) => {
  expect(isSecretName(name)).toBe(true)
})

test.each([
  "author",
  "keyboard",
  "monkey",
  "max_tokens",
  "inputTokens",
  "PWD",
  "OLDPWD",
  "primary_key",
  "cache-key",
  "key",
  "token_url",
  "tokenCount",
  "passenger",
  "city",
  "",
])("%j is not", (name) => {
  expect(isSecretName(name)).toBe(false)
})
