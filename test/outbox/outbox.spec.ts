import { openSqlite } from './databases.js';
import { outboxSuite } from './outbox-suite.js';

outboxSuite('SQLite', openSqlite);
