// Finds beanstalkd, redis-server and promtool, or installs them, before the tests' own time limits run.
import { ensurePromtool, ensureServers } from 'test-servers';

try {
  await ensureServers();
  await ensurePromtool();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
