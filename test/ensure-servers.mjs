// Finds beanstalkd, redis-server, promtool and chromium, or installs them, before the tests' own time limits run.
import { ensurePackaged, ensureServers } from 'test-servers';

try {
  await ensureServers();
  await ensurePackaged('promtool');
  await ensurePackaged('chromium');
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
