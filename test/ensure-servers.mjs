// Finds beanstalkd, redis-server, promtool and chromium, or installs them, before the tests' own time limits run.
import { ensureChromium, ensurePromtool, ensureServers } from 'test-servers';

try {
  await ensureServers();
  await ensurePromtool();
  await ensureChromium();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
