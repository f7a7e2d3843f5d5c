import java.util.Scanner;

// Any class may hold main, whatever the file is called.
public class Sum {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        System.out.println(in.nextLong() + in.nextLong());
    }
}
