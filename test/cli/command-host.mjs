// Runs one command after the other, each as a process of its own would: loading takes most of a short command's time.
// Arguments: the file of the built program.
const [program] = process.argv.splice(2);
const environment = { ...process.env };
process.stdout.setMaxListeners(0);
process.stderr.setMaxListeners(0);

async function run({ args, env, number }) {
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    process[name].write = (text) => {
      said[name] += text;
      return true;
    };
  }
  process.env = { ...environment, ...env };
  process.argv.splice(2, Infinity, ...args);
  process.exitCode = undefined;
  await import(`${program}?${number}`); // evaluated again, unlike its imports
  const code = process.exitCode;
  process.exitCode = undefined;
  process.send({ code, ...said });
}

process.on('message', (asked) => void run(asked));
