import { IsEmail } from 'class-validator';
import { Text } from '../common/text.decorator.js';

export class CreateUserDto {
  @Text()
  name!: string;

  @IsEmail()
  email!: string;
}
