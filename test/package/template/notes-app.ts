// Uses the module of nest-handlers' README.
import 'reflect-metadata';
import { Injectable, Module, UsePipes, type PipeTransform } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Note, NoteModule, Notes, OnNote } from './notes.js';

class Trim implements PipeTransform {
  transform(text: string): string {
    return text.trim();
  }
}

@Injectable()
class Diary {
  @OnNote('weather')
  @UsePipes(Trim)
  write(text: string, { author }: Note): string {
    return `${author}: ${text}`;
  }
}

@Module({ imports: [NoteModule], providers: [Diary] })
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
process.stdout.write(String(await app.get(Notes).take('weather', ' rain ', 'ann')));
await app.close();
