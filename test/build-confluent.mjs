// Builds Confluent's client into the user's cache, so that the tests of nest-kq try its driver, too.
import { buildConfluent } from 'test-servers';

try {
  process.stdout.write(`Confluent's client is in ${await buildConfluent()}\n`);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
