// Run the command line of the MCP inspector several times in one process. The arguments of the runs are JSON on
// standard input; each run prints its output as one line of JSON. A run that fails ends the process with its exit code.
import { text } from "node:stream/consumers";
import { handleError, runCli } from "./node_modules/@modelcontextprotocol/inspector/clients/cli/build/index.js";

const write = process.stdout.write.bind(process.stdout);

async function outputOf(run) {
  const parts = [];
  process.stdout.write = (part, ...rest) => {
    parts.push(part.toString());
    rest.findLast((argument) => typeof argument === "function")?.();
    return true;
  };
  try {
    await run();
  } finally {
    process.stdout.write = write;
  }
  return parts.join("");
}

for (const words of JSON.parse(await text(process.stdin))) {
  try {
    write(`${JSON.stringify(await outputOf(() => runCli(["node", "mcp-inspector", ...words])))}\n`);
  } catch (error) {
    await handleError(error);
  }
}
