// Finds beanstalkd and redis-server, or installs them, before the tests' own time limits run.
import { ensureServers } from 'test-servers';

try {
  await ensureServers();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
